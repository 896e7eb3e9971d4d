package approval

import (
	"path"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// Mode says when people are asked.
type Mode string

// The modes.
const (
	Manual Mode = "manual" // each finding that memory doesn't cover
	Smart  Mode = "smart"  // a reviewing model first; without one, as Manual
	Off    Mode = "off"    // never; floor and denying rules hold
)

// ParseMode reads a configured mode. Boolean words are read as YAML may give them; an unknown word is Manual, with ok false.
func ParseMode(s string) (m Mode, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "manual", "true", "on", "yes":
		return Manual, true
	case "smart":
		return Smart, true
	case "off", "false", "no":
		return Off, true
	}
	return Manual, false
}

// Sandboxed says what is asked about in an environment from which harm doesn't reach the host.
type Sandboxed string

// The words of approvals.sandboxed.
const (
	SandboxReach Sandboxed = "reach" // what leaves the environment or touches what the host shares with it
	SandboxAsk   Sandboxed = "ask"   // as on a host
	SandboxSkip  Sandboxed = "skip"  // nothing
)

// ParseSandboxed reads the word; an unknown one is SandboxReach, with ok false.
func ParseSandboxed(s string) (p Sandboxed, ok bool) {
	switch p = Sandboxed(strings.ToLower(strings.TrimSpace(s))); p {
	case SandboxReach, SandboxAsk, SandboxSkip:
		return p, true
	}
	return SandboxReach, s == ""
}

// stance is what an unattended session does about findings.
type stance string

const (
	stanceDeny    stance = "deny"
	stanceSmart   stance = "smart" // the reviewer decides; without its consent, deny
	stanceApprove stance = "approve"
)

// ParseStance tells whether a word for unattended sessions is one; every other word is deny.
func ParseStance(s string) (known bool) {
	return slices.Contains([]string{"", "deny", "smart", "approve", "off", "allow", "yes", "true", "false", "no"}, strings.ToLower(strings.TrimSpace(s)))
}

func stanceOf(mode string) stance {
	switch strings.ToLower(strings.TrimSpace(mode)) {
	case "approve", "off", "allow", "yes":
		return stanceApprove
	case "smart":
		return stanceSmart
	}
	return stanceDeny
}

// alwaysAsked tells whether a person is asked about a row in every mode: the agent changing its own policy.
func alwaysAsked(r *rules.Row) bool { return r.ID == "agent.policy" }

// confirmable are the floor rows that a person may type the target of, where that is configured.
func confirmable(r *rules.Row) bool { return r.ID == "disk.format" || r.ID == "disk.raw" }

// forbidden tells what nobody's answer can open: rows that deny, and the floor. confirm is the word that a person at an interactive
// terminal may type to let a floor act run once all the same, "" if there is none.
func (c *check) forbidden() (o Outcome, confirm string) {
	if slices.ContainsFunc(c.all, func(f rules.Finding) bool { return f.Row.Family == familyDeny }) {
		o = Policy
	}
	for i := range c.all {
		f := &c.all[i]
		if !c.onFloor(f) {
			continue
		}
		if !c.gate.config.FloorConfirm || !confirmable(f.Row) || len(f.Targets) != 1 || o == Policy || !analysis.Literal(f.Targets[0].Path) ||
			confirm != "" && confirm != f.Targets[0].Path || !c.req.HostLike {
			return Floor, ""
		}
		confirm = f.Targets[0].Path
	}
	if confirm != "" {
		return Floor, confirm
	}
	return o, ""
}

// onFloor tells whether a finding is one that nobody can approve here.
func (c *check) onFloor(f *rules.Finding) bool {
	if c.req.HostLike {
		return f.Floor
	}
	return (f.Floor || slices.Contains(wholeDeletes, f.Row.ID)) && c.hitsHost(f)
}

// wholeDeletes are rows that are on the floor by what they delete: inside a sandbox a path says nothing of the host's path behind it.
var wholeDeletes = []string{"delete.recursive", "delete.bulk", "delete.sync"}

// waived tells whether the kind of environment, or a quiet row, lets a finding pass without a question.
func (c *check) waived(f *rules.Finding) (How, bool) {
	if alwaysAsked(f.Row) {
		return "", false
	}
	if c.gate.config.Rows.silent(f.Row) {
		return ByQuiet, true
	}
	if c.req.HostLike || c.req.Kind == KindHook {
		return "", false
	}
	switch c.gate.config.Sandboxed {
	case SandboxSkip:
		return ByEnvironment, true
	case SandboxAsk:
		return "", false
	}
	return ByEnvironment, !f.Row.Leaves && f.Row.Family != familyOwn && !c.onMount(f)
}

// onMount tells whether a target lies on, or above, what the host shares with the environment. A target that isn't known may. What the
// environment keeps on the host for itself alone is its own: only the loss of all of it is worth a question.
func (c *check) onMount(f *rules.Finding) bool {
	for _, t := range f.Targets {
		for _, m := range c.req.Mounts {
			if m.Own {
				if beneath(string(m.Inside), t.Path) {
					return true
				}
				continue
			}
			if !analysis.Known(t.Path) || t.Class == analysis.ClassUnknown || overlaps(t.Path, string(m.Inside)) {
				return true
			}
		}
	}
	return false
}

func overlaps(a, b string) bool { return beneath(a, b) || beneath(b, a) }

func beneath(p, dir string) bool {
	dir = strings.TrimRight(dir, "/")
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// hitsHost tells whether a floor act in a sandbox is one on the host's side of a mount.
func (c *check) hitsHost(f *rules.Finding) bool {
	for _, t := range f.Targets {
		for _, m := range c.req.Mounts {
			if !beneath(t.Path, string(m.Inside)) {
				continue
			}
			host := analysis.Join(m.Host, strings.TrimPrefix(t.Path[len(strings.TrimRight(string(m.Inside), "/")):], "/"))
			switch analysis.Paths(analysis.Input{Home: c.req.HostHome}).Target("/", host).Class {
			case analysis.ClassRoot, analysis.ClassSystemRoot, analysis.ClassHomeRoot, analysis.ClassDevice:
				return true
			}
		}
	}
	return false
}

// engineSockets are the files by which an engine of containers takes orders; who reaches one has the machine.
var engineSockets = []string{"docker.sock", "podman.sock", "containerd.sock", "crio.sock", "buildkitd.sock"}

// HostLike tells whether harm done in an environment reaches the host: by itself, by its privileges, or by what of the host it sees.
// hostHome is the home directory on the host.
func HostLike(t environment.Traits, hostHome string) bool {
	if t.HostLike || t.Privileged {
		return true
	}
	engine := func(p string) bool { return slices.Contains(engineSockets, path.Base(p)) }
	if slices.ContainsFunc(t.Sockets, engine) {
		return true
	}
	host := analysis.Paths(analysis.Input{Home: hostHome})
	return slices.ContainsFunc(t.Mounts, func(m environment.Mount) bool {
		switch host.Target("/", m.Host).Class {
		case analysis.ClassRoot, analysis.ClassSystemRoot, analysis.ClassHomeRoot, analysis.ClassSystem, analysis.ClassKernel, analysis.ClassDevice:
			return m.Writable
		}
		return engine(m.Host)
	})
}
