package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// Identity is what a path names at one moment: the thing itself, not what a link leads to.
type Identity struct {
	Exists bool
	Device uint64
	Inode  uint64
	Link   string // where a symbolic link leads
}

// Disk looks at the files of the place where a request would run, without changing or waiting for anything: each look takes
// milliseconds at most. Its paths are absolute.
type Disk interface {
	// Identify tells what a path names now; ok is false where that can't be told.
	Identify(path string) (id Identity, ok bool)
	// Resolve follows the links of the longest part that exists.
	Resolve(path string) string
	// Text reads a regular file of at most max bytes.
	Text(path string, max int) (text string, ok bool)
}

// maxIdentified bounds how many targets are looked at for one question.
const maxIdentified = 64

// bind hashes what a decision is for.
func bind(req *Request, reading *analysis.Reading) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	part(req.EnvID)
	part(string(req.Kind))
	part(req.Dir)
	part(req.Command)
	for _, p := range req.Paths {
		part(p.Path)
	}
	if reading != nil {
		for i := range reading.Commands {
			for _, w := range reading.Commands[i].Words {
				part(w.Text)
			}
			for _, r := range reading.Commands[i].Redirects {
				part(r.Op + r.Target.Text)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// identities notes what the targets of deletions are.
func identities(disk Disk, findings []rules.Finding) map[string]Identity {
	if disk == nil {
		return nil
	}
	var out map[string]Identity
	for _, f := range findings {
		if !strings.HasPrefix(f.Row.ID, "delete.") {
			continue
		}
		for _, t := range f.Targets {
			if !analysis.Literal(t.Path) || !strings.HasPrefix(t.Path, "/") || len(out) >= maxIdentified {
				continue
			}
			if id, ok := disk.Identify(t.Path); ok {
				if out == nil {
					out = map[string]Identity{}
				}
				out[t.Path] = id
			}
		}
	}
	return out
}

// Still tells whether what was decided about is still what would run: the same commands in the same directory and environment, from
// which no more of the host is reached, and, where a person was shown them, the same files as targets of deletions. req is the request
// as it would be made now.
func (g *Gate) Still(req Request, d *Decision) bool {
	if len(d.Findings) == 0 {
		return true
	}
	findings, reading := g.findings(&req)
	return bind(&req, reading) == d.Binding && !g.Wider(req, d) && (!d.Asked || maps.Equal(identities(req.Disk, findings), d.targets))
}

// Wider tells whether acts reach more of the host now than when a decision about findings was made.
func (g *Gate) Wider(req Request, d *Decision) bool {
	return len(d.Findings) > 0 && (req.HostLike && !d.hostLike || len(req.Mounts) > d.mounts)
}
