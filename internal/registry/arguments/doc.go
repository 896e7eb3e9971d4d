// Package arguments makes the argument text of a tool call into an object that fits the tool's schema, or into one error that tells the model all it
// needs to send a correct call.
//
// Three steps, each usable alone and all of them in [Prepare]: [Decode] reads the text and repairs what can't change a value, [Coerce] converts
// values whose meaning is plain ("42" for an integer), [Validate] judges the result by the tool's own schema.
//
// Numbers arrive as json.Number, so an integer beyond 2^53 keeps every digit.
package arguments
