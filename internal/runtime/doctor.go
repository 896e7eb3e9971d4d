package runtime

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	env "github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/tool"
)

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
	for _, p := range r.checkValues() {
		add(p)
	}
	for _, w := range r.registry.Warnings() {
		add(w.Key + ": " + w.Text)
	}
	return out
}

// checkValues finds values that only the part which uses them can judge.
func (r *Runtime) checkValues() []string {
	var out []string
	if _, err := r.backend(); err != nil {
		out = append(out, err.Error())
	}
	if zone := r.settings.root.Timezone; zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			out = append(out, fmt.Sprintf("timezone: %q is no time zone such as Europe/Berlin", zone))
		}
	}
	if name, ok := r.doc.Get("terminal.encoding"); ok {
		if _, err := textcap.NewDecoder(io.Discard, fmt.Sprint(name)); err != nil {
			out = append(out, "terminal.encoding: "+err.Error())
		}
	}
	if !r.doc.Has("code_execution.mode") {
		return out
	}
	if c, ok := tool.Lookup[*script.Config](r.services); ok {
		if mode := strings.ToLower(strings.TrimSpace(c.Mode)); mode != "" && mode != script.ModeProject && mode != script.ModeStrict {
			out = append(out, fmt.Sprintf("code_execution.mode: %q is neither %s nor %s; %s is used", c.Mode, script.ModeProject, script.ModeStrict, script.ModeProject))
		}
	}
	return out
}

// checkPython finds the interpreter that scripts get, and says what was passed over on the way. It lays Hermes's own out if it is
// the one.
func (r *Runtime) checkPython(ctx context.Context) []Finding {
	c, ok := tool.Lookup[*script.Config](r.services)
	if !ok {
		return nil
	}
	if r.ScriptsRunElsewhere() {
		return []Finding{{stateOK, "python", "scripts run with the Python of " + r.place.Backend + ", which is looked for there at each run: that of an active virtual environment, else python3 of the PATH"}}
	}
	found, err := r.scripts.Resolver().Project(ctx, c.Python, r.environ, r.tell)
	if err != nil {
		return []Finding{{stateWarn, "python", err.Error()}}
	}
	out := []Finding{{stateOK, "python", fmt.Sprintf("scripts run with Python %s at %s: %s", found.Version, found.Path, found.Why)}}
	for _, passed := range found.Passed {
		out = append(out, Finding{stateWarn, "python", "passed over: " + passed})
	}
	for _, note := range r.scripts.Resolver().Notes() {
		out = append(out, Finding{stateWarn, "python", note})
	}
	var names []string
	for _, w := range script.WithheldFrom(r.environ, r.place.Passthrough) {
		names = append(names, w.Name)
	}
	if len(names) > 0 {
		slices.Sort(names)
		out = append(out, Finding{stateOK, "python", "scripts don't see (terminal.env_passthrough lets one through): " + strings.Join(names, " ")})
	}
	return out
}

// Finding is one line of doctor.
type Finding struct {
	State string `json:"state"` // ok, warn, fail, or off for what isn't used and could not be
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
	stateOff  = "off"
)

// Doctor finds out what works here. It may start what it checks.
func (r *Runtime) Doctor(ctx context.Context, reserved []string) []Finding {
	out := []Finding{r.checkHome()}
	out = append(out, r.checkConfig(reserved)...)
	out = append(out, r.checkBackend(ctx)...)
	out = append(out, r.checkOthers(ctx)...)
	out = append(out, r.checkApprovals()...)
	out = append(out, r.checkPython(ctx)...)
	out = append(out, r.checkSkills(ctx)...)
	out = append(out, r.checkMirror()...)
	out = append(out, r.checkModel(), r.checkStore(ctx))
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

// checkApprovals says how acts are decided about, and what of it a user may not have meant.
func (r *Runtime) checkApprovals() []Finding {
	const about = "approvals"
	var out []Finding
	switch mode, yolo := r.gate.Mode(); {
	case yolo:
		out = append(out, Finding{stateWarn, about, "HERMES_YOLO_MODE is set: nothing is asked but what nobody may turn off"})
	case mode == approval.Off:
		out = append(out, Finding{stateWarn, about, "approvals.mode is off: nothing is asked but what nobody may turn off"})
	default:
		out = append(out, Finding{stateOK, about, "mode " + string(mode)})
	}
	open, list := 0, r.list.current()
	for _, e := range list.Entries {
		if e.Nothing == "" {
			open++
		}
	}
	if n := len(list.Entries); n > 0 {
		out = append(out, Finding{stateOK, about, fmt.Sprintf("%d of %d entries of %s open something; `hermes approvals list` shows them", open, n, allowlistKey)})
	}
	return out
}

// checkSkills counts the skills, those of an agreed project too, and says what is wrong with those that can't be used.
func (r *Runtime) checkSkills(ctx context.Context) []Finding {
	const about, task = "skills", "doctor"
	usable, broken := r.skills.Session(task, r.project(task, r.workspace(task)), nil).Find(ctx, nil)
	out := []Finding{{stateOK, about, fmt.Sprintf("%d can be used", len(usable))}}
	for _, err := range broken {
		for _, e := range unjoin(err) {
			out = append(out, Finding{stateWarn, about, e.Error()})
		}
	}
	return out
}

// checkModel says which model a conversation gets, without asking it anything.
func (r *Runtime) checkModel() Finding {
	const about = "model"
	m, err := r.Model("")
	if err != nil {
		return Finding{stateOff, about, err.Error()}
	}
	return Finding{stateOK, about, nameOf(m)}
}

// checkStore counts the stored conversations.
func (r *Runtime) checkStore(ctx context.Context) Finding {
	const about = "sessions"
	all, err := r.store.List(ctx, store.Filter{Archived: true})
	if err != nil {
		return Finding{stateWarn, about, err.Error()}
	}
	return Finding{stateOK, about, fmt.Sprintf("%d stored", len(all))}
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
	return append(out, r.probe(ctx, b, "terminal")...)
}

// probe has a backend tell what works.
func (r *Runtime) probe(ctx context.Context, b env.Backend, about string) []Finding {
	if b.Probe == nil {
		return nil
	}
	o, err := r.OpenOptions(b)
	if err != nil {
		return []Finding{{stateWarn, about, err.Error()}}
	}
	var out []Finding
	for _, line := range b.Probe(ctx, o) {
		out = append(out, Finding{stateOK, about, line})
	}
	for _, ability := range slices.Sorted(maps.Keys(r.lacking(b))) {
		out = append(out, Finding{stateWarn, about, ability + ": " + r.lacking(b)[ability]})
	}
	return out
}

// otherTime bounds the look at each backend that isn't used.
const otherTime = 10 * time.Second

// checkOthers tells of the backends that aren't used whether they could be, and what to do about it where they can't.
func (r *Runtime) checkOthers(ctx context.Context) []Finding {
	var out []Finding
	for _, b := range env.Backends() {
		if b.Name != r.place.Backend {
			out = append(out, r.checkOther(ctx, b)...)
		}
	}
	return out
}

func (r *Runtime) checkOther(ctx context.Context, b env.Backend) []Finding {
	ctx, cancel := context.WithTimeoutCause(ctx, otherTime, fmt.Errorf("no answer within %v", otherTime))
	defer cancel()
	o, err := r.OpenOptions(b)
	if err == nil && b.Check != nil {
		err = b.Check(ctx, o)
	}
	if err != nil {
		return []Finding{{stateOff, b.Name, err.Error()}}
	}
	out := []Finding{{stateOK, b.Name, fmt.Sprintf("%s; terminal.backend: %s chooses it", b.Description, b.Name)}}
	return append(out, r.probe(ctx, b, b.Name)...)
}
