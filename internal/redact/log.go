package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// LogHandler is inner for records whose texts hide has gone through: message, and whatever an attribute prints as. Numbers, times and
// booleans pass as they are; names of attributes are the program's own.
func LogHandler(inner slog.Handler, hide func(string) string) slog.Handler {
	return &logHandler{inner, hide}
}

type logHandler struct {
	inner slog.Handler
	hide  func(string) string
}

func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.inner.Handle(ctx, out)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.inner.WithAttrs(h.attrs(attrs)), h.hide}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.inner.WithGroup(name), h.hide}
}

func (h *logHandler) attrs(in []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(in))
	for i, a := range in {
		out[i] = h.attr(a)
	}
	return out
}

func (h *logHandler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.hide(v.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindAny:
		if v.Any() != nil {
			a.Value = slog.StringValue(h.hide(fmt.Sprint(v.Any())))
		}
	default:
		a.Value = v
	}
	return a
}
