package rules

import "github.com/hermes-runtime/hermes/internal/approval/analysis"

// PathUse is what a file tool does to a path; the zero value is a write.
type PathUse struct {
	Delete    bool
	Recursive bool
}

// ForPath judges a file tool's act on a path by the classes that commands are judged by. It returns nil when nothing is to be asked.
func ForPath(t analysis.Target, use PathUse) (row *Row, reason string, floor bool) {
	shown := shows([]analysis.Target{t})
	switch {
	case use.Delete && use.Recursive && grave(t):
		return ByName("delete.root"), "deletes a root, system or home directory: " + shown, true
	case use.Delete && (grave(t) || t.Class == analysis.ClassSystem || t.Class == analysis.ClassKernel || t.Class == analysis.ClassSensitive):
		return ByName("delete.protected"), "deletes in a protected place: " + shown, false
	case use.Delete:
	case isStorage(t):
		return ByName("disk.raw"), "writes raw bytes to a device: " + shown, true
	case t.Class == analysis.ClassSystem || t.Class == analysis.ClassKernel:
		return ByName("sysconf.write"), "writes to a system path: " + shown, false
	}
	return nil, "", false
}
