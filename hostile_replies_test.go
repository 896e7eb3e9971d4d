//go:build unix

package hermes_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// What calls are made of.
const (
	readAlpha = `{"path":"a.txt"}`
	writeMade = `{"path":"made.txt","content":"x"}`
)

func asks(id, name, args string) provider.Call {
	return provider.Call{ID: id, Name: name, Arguments: args}
}

func calling(calls ...provider.Call) providertest.Reply { return providertest.Reply{Calls: calls} }

func reading(ids ...string) (out []provider.Call) {
	for _, id := range ids {
		out = append(out, asks(id, "read_file", readAlpha))
	}
	return out
}

func cut(r providertest.Reply) providertest.Reply { r.End = provider.EndLength; return r }

func faulty(f providertest.Fault, r providertest.Reply) providertest.Reply { r.Fault = f; return r }

// mangled changes what goes over the wire: pairs of old and new.
func mangled(r providertest.Reply, pairs ...string) providertest.Reply {
	r.Mangle = strings.NewReplacer(pairs...).Replace
	return r
}

func one(r ...providertest.Reply) []providertest.Reply { return r }

func hostileReplies() []hostile {
	return slices.Concat(hostileNames(), hostileSyntax(), hostileArguments(), hostileIDs(), hostileAmounts(), hostileEnds(), hostileStreams(), hostileTexts(), hostileRepetitions())
}

// alone is a row of one call, which is answered; then the model is done.
func alone(name string, c provider.Call, says string) hostile {
	return hostile{name: name, replies: one(calling(c)), asked: 2, results: []string{says}}
}

func hostileNames() []hostile {
	named := func(row, name, says string) hostile { return alone(row, asks("c1", name, readAlpha), says) }
	hidden := alone("a hidden tool", asks("c1", "todo", `{}`), "not available here")
	hidden.disabled = []string{"todo"}
	return []hostile{
		named("unknown tool", "frobnicate", "frobnicate"),
		named("near-miss name", "ReadFile", "alpha"),
		named("a wrapped name", "functions.read_file", "alpha"),
		named("a name with a letter too many", "read_fille", "alpha"),
		named("a name with another letter", "reed_file", "read_file"),
		named("a name with markup behind it", "read_file<|channel|>json", "alpha"),
		named("empty name", "", "There is no tool"),
		named("control characters in a name", "read\x00_\x1b[2Jfile\n", "read_file"),
		named("a name of 100 KB", strings.Repeat("read", 25_000), "read"),
		{
			name: "broken UTF-8 in a name", asked: 2, results: []string{"There is no tool"},
			replies: one(mangled(calling(asks("c1", "frob☠nicate", readAlpha)), "☠", "\xff\xfe")),
		},
		hidden,
	}
}

func hostileSyntax() (out []hostile) {
	const cutOff = "cut off"
	for _, c := range []struct{ name, args, says string }{
		{"cut in a string", `{"path":"made.txt","content":"x`, cutOff},
		{"cut behind a comma", `{"path":"made.txt","content":"x",`, cutOff},
		{"cut behind a colon", `{"path":"made.txt","content":`, cutOff},
		{"cut before the last brace", `{"path":"made.txt","content":"x"`, cutOff},
		{"cut in an escape", `{"path":"made.txt","content":"\u00`, cutOff},
		{"single quotes", `{'path':'made.txt','content':'x'}`, "Invalid JSON"},
		{"unquoted keys", `{path:"made.txt",content:"x"}`, "Invalid JSON"},
		{"a missing comma", `{"path":"made.txt" "content":"x"}`, "Invalid JSON"},
		{"NaN", `{"path":"made.txt","content":NaN}`, "Invalid JSON"},
		{"Python's words", `{"path":"made.txt","content":None}`, "Invalid JSON"},
		{"a comment", `{"path":"made.txt",/* why */"content":"x"}`, "Invalid JSON"},
		{"words before", `Sure! {"path":"made.txt","content":"x"}`, "Invalid JSON"},
		{"two objects", writeMade + `{"path":"made.txt","content":"y"}`, "second, different object"},
		{"a key twice", `{"path":"other.txt","path":"made.txt","content":"x"}`, "twice"},
		{"100 000 brackets", `{"path":"made.txt","content":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "deep"},
		{"a number", `42`, "must be one JSON object, got a number"},
		{"an array", `["made.txt","x"]`, "must be one JSON object, got an array"},
		{"a string", `"made.txt"`, "Invalid JSON"},
		{"a bool", `true`, "must be one JSON object, got a boolean"},
		{"null", `null`, "path"},
		{"blank", " \n", "path"},
		{"an object in a string, twice", fmt.Sprintf("%q", fmt.Sprintf("%q", writeMade)), "Invalid JSON"},
		{"markup", `<parameter name="path">made.txt</parameter>`, "Invalid JSON"},
		{"control characters alone", "\x00\x1b[2J\x07", "Invalid JSON"},
	} {
		out = append(out, alone("arguments: "+c.name, asks("c1", "write_file", c.args), c.says))
	}
	for _, c := range []struct{ name, args string }{
		{"a trailing comma", `{"path":"made.txt","content":"x",}`},
		{"a fence", "```json\n" + writeMade + "\n```"},
		{"the same object twice", writeMade + "\n" + writeMade},
		{"an object in a string", fmt.Sprintf("%q", writeMade)},
		{"a raw line break", "{\"path\":\"made.txt\",\"content\":\"x\n\"}"},
		{"a closer too many", writeMade + "}"},
		{"a byte order mark", "\ufeff" + writeMade},
		{"escapes of the terminal", "{\"path\":\"made.txt\",\"content\":\"\x1b[2J\"}"},
		{"half a character", `{"path":"made.txt","content":"\ud800"}`},
	} {
		h := alone("arguments: "+c.name, asks("c1", "write_file", c.args), `"bytes_written":`)
		h.made = true
		out = append(out, h)
	}
	return out
}

func hostileArguments() []hostile {
	read := func(name, args, says string) hostile { return alone(name, asks("c1", "read_file", args), says) }
	return []hostile{
		read("wrong type: a number", `{"path":7}`, "path"),
		read("wrong type: an object", `{"path":{"a.txt":true}}`, "path"),
		read("wrong type: a word for a number", `{"path":"a.txt","limit":"many"}`, "limit"),
		read("a number in a string", `{"path":"a.txt","limit":"5"}`, "alpha"),
		read("a number beyond all", `{"path":"a.txt","limit":1e999}`, "number"),
		read("a parameter that isn't there", `{"path":"a.txt","colour":"red"}`, "colour"),
		read("a parameter spelt otherwise", `{"Path":"a.txt"}`, "alpha"),
		read("NUL in a path", `{"path":"a\u0000.txt"}`, "error"),
		{
			name: "broken UTF-8 in arguments", asked: 2, made: true, results: []string{`"bytes_written":`},
			replies: one(mangled(calling(asks("c1", "write_file", `{"path":"made.txt","content":"☠"}`)), "☠", "\xff\xfe")),
		},
		alone("todo with nonsense", asks("c1", "todo", `{"todos":"all of them","merge":"perhaps"}`), "todos"),
		alone("memory with nonsense", asks("c1", "memory", `{"action":"explode","target":"the world"}`), "action"),
		alone("session_search with nonsense", asks("c1", "session_search", `{"query":"\" AND * -:","limit":-7,"sort":"sideways"}`), "sort"),
		alone("delegate_task without a task", asks("c1", "delegate_task", `{}`), "goal"),
		alone("delegate_task with nonsense", asks("c1", "delegate_task", `{"tasks":"[[]]","role":"emperor"}`), "role"),
		alone("clarify with nobody there", asks("c1", "clarify", `{"question":"which?"}`), "error"),
		alone("skill_view of a path", asks("c1", "skill_view", `{"name":"../../etc/passwd"}`), "error"),
	}
}

// idOf finds the ids of calls on the wire.
var idOf = regexp.MustCompile(`"id":"(toolu_|none)[^"]*"`)

func hostileIDs() []hostile {
	none := calling(reading("", "")...)
	none.Mangle = func(events string) string { return idOf.ReplaceAllString(events, `"id":""`) }
	read := func(name string, ids ...string) hostile {
		return hostile{name: name, asked: 2, replies: one(calling(reading(ids...)...)), results: []string{"alpha"}, count: len(ids)}
	}
	return []hostile{
		{name: "no id", asked: 2, replies: one(none), results: []string{"alpha"}, count: 2},
		read("an id twice", "c1", "c1"),
		read("an id that another one becomes", "c1", "c1_2", "c1", "c1"),
		read("ids with spaces and pictures", "c 1", "c 1 ", "🙂", "🙃", "../c", "\x00\x1b[2J"),
		read("ids of 1 KB", strings.Repeat("i", 1024), strings.Repeat("i", 1023)+"j"),
		{
			name: "the same id in each reply", asked: 4, results: []string{"alpha", "made.txt", "alpha"}, made: true,
			replies: one(calling(reading("c1")...), calling(asks("c1", "write_file", writeMade)), calling(reading("c1")...)),
		},
	}
}

func hostileAmounts() []hostile {
	var many, bad []provider.Call
	for i := range 100 {
		many = append(many, asks(fmt.Sprint("c", i), "read_file", fmt.Sprintf(`{"path":"a.txt","limit":%d}`, i+1)))
		bad = append(bad, asks(fmt.Sprint("c", i), "read_file", fmt.Sprintf(`{"path":"a.txt","limit":[%d]}`, i)))
	}
	large := `{"path":"made.txt","content":"` + strings.Repeat("0123456789", largeArguments/10)
	written := alone("5 MB of arguments", asks("c1", "write_file", large+`"}`), fmt.Sprint(`"bytes_written":`, largeArguments))
	written.made = true
	mixed := calling(asks("c1", "read_file", readAlpha), asks("c2", "nothing", `{}`), asks("c3", "write_file", `{"path":`), asks("c4", "write_file", writeMade))
	mixed.Text = "I look, and write."
	return []hostile{
		{name: "100 calls at once", asked: 2, replies: one(calling(many...)), results: []string{"alpha"}, count: 100},
		{name: "100 invalid calls at once", asked: 2, replies: one(calling(bad...)), results: []string{"limit"}, count: 100},
		{name: "the same call 100 times", asked: 2, replies: one(calling(reading(strings.Split(strings.Repeat("c,", 99)+"c", ",")...)...)), results: []string{"alpha"}, count: 100},
		written,
		alone("5 MB of arguments that are cut off", asks("c1", "write_file", large), "cut off"),
		{
			name: "text, valid and invalid calls mixed", asked: 2, made: true, replies: one(mixed), text: "I look, and write.",
			results: []string{"alpha", "nothing", "cut off", `"bytes_written":1`},
		},
	}
}

func hostileEnds() []hostile {
	whole, half := calling(asks("c1", "write_file", writeMade)), calling(asks("c1", "write_file", `{"path":"made.txt","content":"`))
	several := cut(calling(asks("c1", "read_file", readAlpha), asks("c2", "write_file", `{"path":"made`)))
	declined := providertest.Reply{Text: "I can't do that.", End: provider.EndRefused}
	refusing := calling(reading("c1")...)
	refusing.End = provider.EndRefused
	piece := cut(providertest.Reply{Text: "on and on "})
	empty, blank, thought := providertest.Reply{}, providertest.Reply{Text: " \n\t "}, providertest.Reply{Reasoning: "What was it?"}
	const failed, partial, limit = hermes.Failed, hermes.Partial, agent.ExitBudget
	return []hostile{
		{name: "refusal", replies: one(declined), asked: 1, status: failed, exit: agent.ExitError, fault: "declined", text: "I can't do that."},
		{name: "refusal without a word", replies: one(providertest.Reply{End: provider.EndRefused}), asked: 1, status: failed, exit: agent.ExitError, fault: "declined"},
		{name: "refusal with a call", replies: one(refusing), asked: 2, results: []string{"alpha"}},
		{name: "text cut off once", replies: one(piece), asked: 2, text: "on and on done"},
		{name: "text cut off for ever", replies: one(piece), endless: true, asked: 4, status: partial, exit: limit, fault: "continued 3 times", text: "on and on on and on on and on on and on"},
		{name: "a call cut off once", replies: one(cut(half), whole), asked: 3, made: true, results: []string{`"bytes_written":1`}},
		{name: "a call cut off for ever", replies: one(cut(half)), endless: true, asked: 4, status: failed, exit: agent.ExitError, fault: "cut off at the limit"},
		{name: "several calls, the last cut off", replies: one(several), asked: 2},
		{name: "a call that is whole at the limit", replies: one(cut(whole)), asked: 2, results: []string{"cut off"}},
		{name: "empty once", replies: one(empty), asked: 2},
		{name: "empty for ever", replies: one(empty), endless: true, asked: 2, status: failed, exit: agent.ExitError, fault: "empty"},
		{name: "nothing but white space", replies: one(blank, blank), asked: 2, status: failed, exit: agent.ExitError, fault: "empty"},
		{name: "nothing but reasoning", replies: one(thought, thought), asked: 2, status: failed, exit: agent.ExitError, fault: "empty"},
		{name: "empty behind a call", replies: one(calling(reading("c1")...), empty), asked: 3, results: []string{"alpha"}},
		{name: "an end that says stop, with calls", asked: 2, results: []string{"alpha"}, replies: one(mangled(calling(reading("c1")...), `"tool_calls","index"`, `"stop","index"`, `"finish_reason":"tool_calls"`, `"finish_reason":"stop"`, `"stop_reason":"tool_use"`, `"stop_reason":"end_turn"`))},
		{name: "an end that says calls, without any", asked: 1, replies: one(mangled(providertest.Reply{Text: "done"}, `"finish_reason":"stop"`, `"finish_reason":"tool_calls"`, `"stop_reason":"end_turn"`, `"stop_reason":"tool_use"`))},
		{name: "an end that nobody knows", asked: 1, replies: one(mangled(providertest.Reply{Text: "done"}, `"finish_reason":"stop"`, `"finish_reason":"banana"`, `"stop_reason":"end_turn"`, `"stop_reason":"banana"`))},
	}
}

func hostileStreams() []hostile {
	call := calling(asks("c1", "write_file", `{"path":"made.txt","content":"`+strings.Repeat("x", 300)+`"}`))
	text := providertest.Reply{Text: strings.Repeat("word ", 30)}
	broken := hostile{asked: 1, status: hermes.Failed, exit: agent.ExitError, text: "word"}
	row := func(name string, f providertest.Fault, fault string) hostile {
		h := broken
		h.name, h.replies, h.fault = name, one(faulty(f, text)), fault
		return h
	}
	twice := func(name string, r providertest.Reply, fault string) hostile {
		return hostile{name: name, replies: one(r, r), asked: 2, status: hermes.Failed, exit: agent.ExitError, fault: fault}
	}
	once := func(name string, r providertest.Reply) hostile { return hostile{name: name, replies: one(r), asked: 2} }
	status := func(code int) providertest.Reply { return providertest.Reply{Status: code, Message: "not now"} }
	final := func(name string, code int) hostile {
		return hostile{name: name, replies: one(status(code)), asked: 1, status: hermes.Failed, exit: agent.ExitError, fault: "not now"}
	}
	garbled := func(r providertest.Reply) providertest.Reply { return mangled(r, "☠", "\x00") }
	return []hostile{
		row("broken in the middle of a text", providertest.Cut, "cut off"),
		row("an event of garbage in a text", providertest.Garbage, "makes no sense"),
		row("an error in a text", providertest.InStream, "it did not work"),
		once("broken in the middle of a call, once", faulty(providertest.Cut, call)),
		twice("broken in the middle of a call", faulty(providertest.Cut, call), "cut off"),
		once("an error in a call, once", faulty(providertest.InStream, call)),
		{name: "an event of garbage in a call", replies: one(faulty(providertest.Garbage, call)), asked: 1, status: hermes.Failed, exit: agent.ExitError, fault: "makes no sense"},
		{name: "a raw NUL in an event", replies: one(garbled(calling(asks("c1", "write_file", `{"path":"made.txt","content":"☠"}`)))), asked: 1, status: hermes.Failed, exit: agent.ExitError, fault: "makes no sense"},
		{name: "an end that isn't marked", replies: one(faulty(providertest.Unmarked, providertest.Reply{Text: "done"})), asked: 1},
		{name: "bytes behind the end", replies: one(faulty(providertest.Trailing, providertest.Reply{Text: "done"})), asked: 1},
		once("an error with status 200, once", providertest.Reply{Fault: providertest.With200}),
		twice("an error with status 200", providertest.Reply{Fault: providertest.With200}, "it did not work"),
		once("429, once", status(http.StatusTooManyRequests)),
		once("500, once", status(http.StatusInternalServerError)),
		once("529, once", status(529)),
		twice("500", status(http.StatusInternalServerError), "not now"),
		final("401", http.StatusUnauthorized),
		final("403", http.StatusForbidden),
		final("400", http.StatusBadRequest),
		{name: "a call, then 401", replies: one(calling(asks("c1", "write_file", writeMade)), status(http.StatusUnauthorized)), made: true, asked: 2, results: []string{`"bytes_written":1`}, status: hermes.Failed, exit: agent.ExitError, fault: "not now"},
	}
}

func hostileTexts() []hostile {
	said := func(name, text string) hostile {
		return hostile{name: name, replies: one(providertest.Reply{Text: text}), asked: 1, text: text}
	}
	return []hostile{
		said("NUL in a text", "a\x00b"),
		said("control sequences in a text", "a\x1b[2J\x1b]0;title\x07\rb"),
		said("characters that can't be seen", "a\u202e\u200b\ufeffb"),
		said("a text of 1 MB", strings.Repeat("word ", 200_000)),
		said("a text that looks like a call", `<tool_call>{"name":"write_file","arguments":`+writeMade+`}</tool_call>`),
		{name: "broken UTF-8 in a text", replies: one(mangled(providertest.Reply{Text: "a☠b"}, "☠", "\xff\xfe")), asked: 1, text: "a\ufffd\ufffdb"},
	}
}

func hostileRepetitions() []hostile {
	const circling, most = agent.ExitInvalidCalls, agent.ExitMaxIterations
	unknown, badly := calling(asks("c1", "frobnicate", `{}`)), calling(asks("c1", "read_file", `{"path":`))
	beside := calling(asks("c1", "frobnicate", `{}`), asks("c2", "skills_list", `{}`))
	missing := calling(asks("c1", "read_file", `{"path":"missing.txt"}`))
	list := calling(asks("c1", "skills_list", `{}`))
	const warned = "no_progress_warning"
	const stop, few = "tool_loop_guardrails:\n  hard_stop_enabled: true\n", "agent:\n  max_turns: 7\n"
	return []hostile{
		{name: "an unknown tool for ever", replies: one(unknown), endless: true, asked: 3, status: hermes.Partial, exit: circling, fault: "the same invalid call", results: []string{"frobnicate"}, count: 3},
		{name: "broken arguments for ever", replies: one(badly), endless: true, asked: 3, status: hermes.Partial, exit: circling, fault: "the same invalid call", results: []string{"cut off"}, count: 3},
		{
			name: "an invalid call for ever beside a valid one", replies: one(beside), endless: true, asked: 3, status: hermes.Partial, exit: circling, fault: "the same invalid call",
			results: []string{"frobnicate", "skills", "frobnicate", "skills", "frobnicate", "skills"},
		},
		{name: "an invalid call twice, then another", replies: one(unknown, unknown, badly, unknown, unknown), asked: 6, results: []string{"frobnicate", "frobnicate", "cut off", "frobnicate", "frobnicate"}},
		{
			name: "one read for ever", replies: one(calling(reading("c1")...)), endless: true, config: few, asked: 8, status: hermes.Partial, exit: most, fault: "7 requests", text: "summary",
			results: []string{"alpha", "unchanged", "3 times", "4 times", "5 times", "6 times", "7 times"},
		},
		{
			name: "one read for ever that is stopped", replies: one(calling(reading("c1")...)), endless: true, config: "agent:\n  max_turns: 9\n" + stop, asked: 10, status: hermes.Partial, exit: most, fault: "9 requests", text: "summary",
			results: []string{"alpha", "unchanged", "3 times", "exact_failure_warning", "exact_failure_warning", "exact_failure_warning", "exact_failure_warning", "exact_failure_block", "exact_failure_block"},
		},
		{
			name: "an invalid call for ever beside a read", replies: one(calling(asks("c1", "frobnicate", `{}`), asks("c2", "read_file", readAlpha))), endless: true, asked: 3, status: hermes.Partial, exit: circling, fault: "the same invalid call",
			results: []string{"frobnicate", "alpha", "frobnicate", "unchanged", "frobnicate", "3 times"},
		},
		{
			name: "one read for ever beside another call", replies: one(calling(append(reading("c1"), asks("c2", "skills_list", `{}`))...)), endless: true, config: "agent:\n  max_turns: 3\n", asked: 4, status: hermes.Partial, exit: most, fault: "3 requests", text: "summary",
			results: []string{"alpha", "skills", "alpha", "skills", "alpha", "skills"},
		},
		{
			name: "one call for ever", replies: one(list), endless: true, config: few, asked: 8, status: hermes.Partial, exit: most, fault: "7 requests", text: "summary",
			results: []string{"skills", warned, warned, warned, warned, warned, warned},
		},
		{
			name: "one call for ever that is stopped", replies: one(list), endless: true, config: few + stop, asked: 8, status: hermes.Partial, exit: most, fault: "7 requests", text: "summary",
			results: []string{"skills", warned, warned, warned, warned, "no_progress_block", "no_progress_block"},
		},
		{
			name: "one failure for ever that is stopped", replies: one(missing), endless: true, config: few + stop, asked: 8, status: hermes.Partial, exit: most, fault: "7 requests", text: "summary",
			results: []string{"missing.txt", "exact_failure_warning", "exact_failure_warning", "exact_failure_warning", "exact_failure_warning", "exact_failure_block", "exact_failure_block"},
		},
	}
}
