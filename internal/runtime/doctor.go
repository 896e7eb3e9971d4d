package runtime

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/engine/guard"
)

// Guard is the hidden role that ends what a runtime leaves behind when it dies. It reads from the pipe that the runtime holds.
func Guard(in io.Reader) error { return guard.Serve(context.Background(), in) }

// Check lists what is wrong in the configuration, names of toolsets included. reserved are keys of areas that this build lacks.
func (r *Runtime) Check(reserved []string) []string {
	out := []string{}
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	for _, p := range r.doc.Check(config.Registered(), reserved) {
		add(p.Error())
	}
	for _, p := range r.Problems() {
		add(p.Error())
	}
	for _, w := range r.registry.Warnings() {
		add(w.Key + ": " + w.Text)
	}
	return out
}

// Finding is one line of doctor.
type Finding struct {
	State string `json:"state"` // ok, warn or fail
	About string `json:"about"`
	Text  string `json:"text"` // what is so, and what to do about it
}

// Failed reports whether something doesn't work at all.
func (f Finding) Failed() bool { return f.State == stateFail }

// The states of a Finding.
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "fail"
)

// Doctor finds out what works here. It may start what it checks.
func (r *Runtime) Doctor(ctx context.Context, reserved []string) []Finding {
	out := []Finding{r.checkHome()}
	out = append(out, r.checkConfig(reserved)...)
	out = append(out, r.checkBackend(ctx)...)
	rows, err := r.registry.Tools(ctx)
	if err != nil {
		return append(out, Finding{stateFail, "tools", err.Error()})
	}
	for _, t := range rows {
		if t.Available {
			out = append(out, Finding{stateOK, t.Name, "available"})
		} else {
			out = append(out, Finding{stateWarn, t.Name, t.Reason})
		}
	}
	return out
}

func (r *Runtime) checkHome() Finding {
	if err := os.MkdirAll(r.home, 0o700); err != nil {
		return Finding{stateFail, "HERMES_HOME", fmt.Sprintf("can't be made: %v", err)}
	}
	f, err := os.CreateTemp(r.home, ".doctor-*")
	if err != nil {
		return Finding{stateFail, "HERMES_HOME", fmt.Sprintf("can't be written: %v; audit and caches are lost", err)}
	}
	name := f.Name()
	_ = f.Close()
	_ = os.Remove(name)
	return Finding{stateOK, "HERMES_HOME", r.home}
}

func (r *Runtime) checkConfig(reserved []string) []Finding {
	found := r.Check(reserved)
	if len(found) == 0 {
		text := r.doc.Path
		if !r.doc.Exists {
			text += " (none yet: defaults hold)"
		}
		return []Finding{{stateOK, "configuration", text}}
	}
	var out []Finding
	for _, p := range found {
		out = append(out, Finding{stateWarn, "configuration", p})
	}
	return out
}

func (r *Runtime) checkBackend(ctx context.Context) []Finding {
	b, err := r.backend()
	if err != nil {
		return []Finding{{stateFail, "terminal", err.Error()}}
	}
	if err := r.TerminalUnavailable(ctx); err != nil {
		return []Finding{{stateFail, "terminal", fmt.Sprintf("%s: %v", b.Name, err)}}
	}
	out := []Finding{{stateOK, "terminal", "commands run in: " + b.Name}}
	if b.Probe == nil {
		return out
	}
	settings, err := r.backendConfig(b)
	if err != nil {
		return append(out, Finding{stateWarn, "terminal", err.Error()})
	}
	for _, line := range b.Probe(ctx, settings) {
		out = append(out, Finding{stateOK, "terminal", line})
	}
	return out
}
