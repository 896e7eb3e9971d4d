package rules

import "github.com/hermes-runtime/hermes/internal/approval/analysis"

// PathUse is what a file tool does to a path; the zero value is a write.
type PathUse struct {
	Delete    bool
	Recursive bool
}

// pathWrites say which row a write of a file tool belongs to, gravest first; the rows judge commands by the same places.
var pathWrites = []struct {
	id, reason string
	floor      bool
	is         func(analysis.Target) bool
}{
	{"disk.raw", "writes raw bytes to a device", true, isStorage},
	{"agent.policy", "changes what the agent may do", false, policyPlace},
	{"user.credentials", "writes to keys or credentials", false, func(t analysis.Target) bool {
		return t.Kind == analysis.KindKeys || t.Kind == analysis.KindCredentials || t.Kind == analysis.KindPublic && t.Class == analysis.ClassSensitive
	}},
	{"user.startup", "writes to what runs at a start", false, func(t analysis.Target) bool {
		return t.Kind == analysis.KindStartup && t.Class != analysis.ClassSystem
	}},
	{"sysconf.write", "writes to a system path", false, systemPlace},
}

// ForPath judges a file tool's act on a path by the places that commands are judged by. It returns nil when nothing is to be asked.
func ForPath(t analysis.Target, use PathUse) (row *Row, reason string, floor bool) {
	shown := shows([]analysis.Target{t})
	if !use.Delete {
		for _, w := range pathWrites {
			if w.is(t) {
				return ByName(w.id), w.reason + ": " + shown, w.floor
			}
		}
		return nil, "", false
	}
	switch {
	case t.Link: // the link goes, and what it leads to stays
	case use.Recursive && grave(t):
		return ByName("delete.root"), "deletes a root, system or home directory: " + shown, true
	case policyPlace(t):
		return ByName("agent.policy"), "changes what the agent may do: " + shown, false
	case grave(t), t.Class == analysis.ClassSystem, t.Class == analysis.ClassKernel, t.Class == analysis.ClassSensitive:
		return ByName("delete.protected"), "deletes in a protected place: " + shown, false
	}
	return nil, "", false
}
