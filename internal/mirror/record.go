package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// record is a file that a place has from us, as both sides were when they were equal.
type record struct {
	Hash string      `json:"hash"` // SHA-256 of the content, hexadecimal
	Size int64       `json:"size"`
	Here int64       `json:"here"`  // modification time here, in ns; 0 = it may have changed within the clock's tick
	Is   fs.FileMode `json:"mode"`  // as carried
	Far  int64       `json:"there"` // modification time there, in ns
	File bool        `json:"file,omitempty"`
	// Found says that the place had it already: nobody but its owner removes it, or writes over it without putting it aside.
	Found bool `json:"found,omitempty"`
}

// records are those by name below environment.SharedDir.
type records map[string]record

// lies tells whether a file of this machine is the one that was recorded, as far as size and time tell.
func (r record) lies(f file) bool {
	return r.Here != 0 && r.Here == f.time.UnixNano() && r.Size == f.size && r.Is == f.mode
}

// stays tells the same of a file there.
func (r record) stays(i environment.FileInfo) bool {
	return r.Size == i.Size && r.Far == i.ModTime.UnixNano()
}

// settled is the time of a file that is recorded: one that changed just now may change once more and look the same.
func (m *Mirror) settled(t time.Time) int64 {
	if m.o.Now().Sub(t) < 2*time.Second {
		return 0
	}
	return t.UnixNano()
}

// isName tells names that can be of a file of ours from whatever a place may say.
func isName(name string) bool {
	return filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\x00\\") && !strings.HasPrefix(name, recordHead) &&
		!strings.Contains("/"+name+"/", "/./") && !strings.Contains("/"+name+"/", "/../") && !strings.Contains(name, "//")
}

const (
	recordHead = ".shared-"
	mostRecord = 16 << 20
)

func (p *place) recordFile() environment.Path {
	return p.root + environment.Path("/"+recordHead+p.m.o.Owner+".json")
}

// readRecords asks the place what it has from us. Nobody vouches for the answer: what can't be ours is dropped, and one that can't be read
// says that it has nothing.
func (p *place) readRecords(ctx context.Context) (records, error) {
	r, err := p.env.Files().Read(ctx, p.recordFile(), 0, mostRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return records{}, nil
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(r, mostRecord))
		_ = r.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("read what was brought before: %w", err)
	}
	var all records
	if json.Unmarshal(text, &all) != nil {
		return records{}, nil
	}
	for name := range all {
		if !isName(name) {
			delete(all, name)
		}
	}
	if all == nil {
		all = records{}
	}
	return all, nil
}

// writeRecords settles what the place has.
func (p *place) writeRecords(ctx context.Context, all records) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	_, err = p.env.Files().Replace(ctx, p.recordFile(), bytes.NewReader(text), environment.ReplaceOptions{Mode: 0o600})
	if err != nil {
		return fmt.Errorf("note what was brought: %w", err)
	}
	p.known, p.sent = all, nil
	return nil
}
