// Package recorded plays conversations from files, and writes files of conversations with real models, so that everything can run without
// a network and the same each time.
//
// A tape is a file of JSON Lines, one for each reply, in the order of the requests:
//
//	{"text": "Hello."}
//	{"calls": [{"name": "terminal", "arguments": {"command": "ls"}}]}
//	{"text": "Two files.", "chunks": 4, "usage": {"input": 20, "output": 3}}
//	{"error": {"type": "rate_limit", "retry_after": 2}}
//
// See Line for all that a line may hold. A first line with "tape" says what was recorded (see Head); blank lines and lines that begin
// with # are skipped.
//
// Every session (Request.Session) plays for itself, so that any number of conversations can use one tape at once. Lines with a name in
// "session" are of another conversation that the recorded one began, such as a child agent's: a session plays the first of these tracks
// whose first line takes its first request, tracks that nobody plays yet before the others.
package recorded

import "github.com/hermes-runtime/hermes/provider"

func init() {
	provider.Register(provider.Descriptor{Name: "replay", Description: "a recorded conversation: replay:FILE", Rank: 100, Play: play})
	provider.Register(provider.Descriptor{Name: "record", Description: "another model, recorded: record:FILE=[PROVIDER/]MODEL", Rank: 101, Around: record})
}
