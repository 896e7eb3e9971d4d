package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"reflect"
	"strings"
	"unicode"

	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/tool"
)

// maxMessage bounds the message of an error, in characters.
const maxMessage = 2000

// panicError is a recovered panic. The stack goes to the log only.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprint(p.value) }

// exceptionTypes is asked in order; the first that matches names the error.
var exceptionTypes = []struct {
	name  string
	match func(error) bool
}{
	{"TimeoutError", func(err error) bool {
		n, ok := errors.AsType[net.Error](err)
		return errors.Is(err, context.DeadlineExceeded) || ok && n.Timeout()
	}},
	{"CancelledError", func(err error) bool {
		_, interrupted := errors.AsType[tool.Interruption](err)
		return interrupted || errors.Is(err, context.Canceled)
	}},
	{"FileNotFoundError", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
	{"FileExistsError", func(err error) bool { return errors.Is(err, fs.ErrExist) }},
	{"PermissionError", func(err error) bool { return errors.Is(err, fs.ErrPermission) }},
	{"JSONDecodeError", func(err error) bool { _, ok := errors.AsType[*json.SyntaxError](err); return ok }},
	{"ConnectionError", func(err error) bool {
		_, isURL := errors.AsType[*url.Error](err)
		_, isNet := errors.AsType[net.Error](err)
		return isURL || isNet
	}},
	{"Panic", func(err error) bool { _, ok := errors.AsType[*panicError](err); return ok }},
}

// exceptionType names an error as the model reads it.
func exceptionType(err error) string {
	if named, ok := errors.AsType[interface {
		error
		ErrorType() string
	}](err); ok {
		if name := named.ErrorType(); name != "" {
			return name
		}
	}
	for _, t := range exceptionTypes {
		if t.match(err) {
			return t.name
		}
	}
	return innermost(err)
}

// innermost is the name of the innermost error type that its package exports.
func innermost(err error) string {
	name := "Error"
	for err != nil {
		t := reflect.TypeOf(err)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if n := t.Name(); n != "" && unicode.IsUpper(rune(n[0])) {
			name = n
		}
		switch w := err.(type) {
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case interface{ Unwrap() []error }:
			all := w.Unwrap()
			if len(all) == 0 {
				return name
			}
			err = all[len(all)-1]
		default:
			return name
		}
	}
	return name
}

// message is what an error says, fit for a model: never empty, no control sequences, bounded.
func message(err error) string {
	text := strings.TrimSpace(ansi.Strip(err.Error()))
	if text == "" {
		text = "no further message"
	}
	return textcap.Head(text, maxMessage, "… [message cut at 2000 characters]")
}

// executionFailed is how the answer for an error of a handler begins; the type of the error and its message follow.
const executionFailed = "Tool execution failed: "

// wrapped is what a model reads of an error of a handler. Handlers hand on what an inner call, another program or a Python exception said,
// which may begin so already: nothing stands there twice.
func wrapped(err error) string {
	kind, text := exceptionType(err), message(err)
	if strings.HasPrefix(text, executionFailed) {
		return text
	}
	for {
		head, rest, found := strings.Cut(text, ": ")
		if !found || head != kind && !strings.EqualFold(head, "error") || strings.TrimSpace(rest) == "" {
			return executionFailed + kind + ": " + text
		}
		text = strings.TrimSpace(rest)
	}
}
