package analysis

import "strings"

// Inside describes the environment that a carrier runs its command in, as far as paths are concerned.
type Inside struct {
	Name      string  // as people know it: the host, image or container
	Container bool    // paths lead to the outside only through Mounts
	Remote    bool    // another machine: its own files, as grave as ours
	Mounts    []Mount // of a container
	Root      string  // what / is outside, after a chroot; "" = unchanged
	Home      string  // the home directory in there; "" = unknown
	Parent    *Inside // the environment around it; nil is the text's own
}

// Mount is a directory of the outside that a container sees.
type Mount struct{ Outside, Inside string }

// outside maps a path of the inner environment to the one around it. ok is false when no mount leads there.
func (in *Inside) outside(p string) (path string, ok bool) {
	if in.Root != "" {
		return Clean(in.Root + "/" + p), true
	}
	if !in.Container {
		return p, true
	}
	best := -1
	for i, m := range in.Mounts {
		if (p == m.Inside || m.Inside == "/" || strings.HasPrefix(p, m.Inside+"/")) && (best < 0 || len(m.Inside) > len(in.Mounts[best].Inside)) {
			best = i
		}
	}
	if best < 0 {
		return p, false
	}
	m := in.Mounts[best]
	return Clean(m.Outside + "/" + strings.TrimPrefix(p, m.Inside)), true
}
