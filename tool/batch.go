package tool

// Batch is the calls of one model turn, and who follows them.
type Batch struct {
	Turn  string // id of the turn; "" = none
	Calls []Request
	// Began is told that a call is about to run, Ended how it ended: once for each call, also for one that never began. They are called
	// on any goroutine, several at once, and must not block. The results that the batch returns may be shorter, where together they are
	// too long for a turn. nil = nobody listens.
	//
	// paths are what the call reads or writes, as far as its tool declares them: absolute, in the call's place.
	Began func(index int, c *Call, paths []string)
	// Within is told the same of a call that the call at index makes itself, as a script does.
	Within func(index int, c *Call, paths []string)
	Ended  func(index int, r Result)
	Guard  Guard // nil = none
}

// Guard watches the calls of a turn: it may refuse one that is about to run, and add a remark to the result of one that has. It is
// called on any goroutine.
type Guard interface {
	// Before returns the answer to a call that must not run, as a JSON object, or nil.
	Before(c *Call) map[string]any
	// After returns what becomes the member "guardrail" of the result, or nil.
	After(g Guarded) any
}

// Guarded is a call that has run.
type Guarded struct {
	Call     *Call
	ReadOnly bool // the tool declares that its calls change nothing
	Result   Result
}
