package terminal

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

// hookSees is how many characters of an output a hook gets at most.
const hookSees = 1_000_000

// hooks lets hooks change what a command printed. The zero value has none.
type hooks struct {
	set  *hook.Set
	call *tool.Call
	out  session.Output
	seen *start
}

// watch keeps what hooks will be shown, if there are any.
func watch(c *tool.Call, o *session.Output) hooks {
	set, ok := tool.Service[*hook.Set](c)
	if !ok || set == nil || set.Empty() {
		return hooks{}
	}
	h := hooks{set: set, call: c, out: *o, seen: &start{left: hookSees}}
	o.Also = h.seen
	return h
}

// transform puts the text of the first hook that has one in place of the output.
func (h hooks) transform(ctx context.Context, command string, a *session.Answer) {
	if h.set == nil {
		return
	}
	text, changed := h.set.TransformTerminalOutput(ctx, hook.Terminal{
		Command: command, Output: h.seen.String(), ReturnCode: a.ExitCode, TaskID: h.call.Task, EnvType: a.Place.Info().Backend,
	})
	if changed {
		_ = a.Replace(ctx, text, h.out) // the encoding, its one possible fault, has just been in use
	}
}

// start keeps the first characters that are written to it.
type start struct {
	strings.Builder
	left int // characters
}

func (s *start) Write(p []byte) (int, error) {
	n := len(p)
	if chars := utf8.RuneCount(p); chars > s.left {
		cut := 0
		for range s.left {
			_, size := utf8.DecodeRune(p[cut:])
			cut += size
		}
		p = p[:cut]
		s.left = 0
	} else {
		s.left -= chars
	}
	s.Builder.Write(p)
	return n, nil
}
