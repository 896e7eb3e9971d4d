package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

// Snapshots is a file of references to snapshots, by key. A reference is replaced only by one that is good: call Put once the snapshot is
// made.
type Snapshots struct{ path string }

// OpenSnapshots gives the file of that name where the ledger of the same home lies.
func OpenSnapshots(home, name string) *Snapshots {
	return &Snapshots{filepath.Join(stateOf(home), name)}
}

// Get gives the reference of a key, "" where there is none.
func (s *Snapshots) Get(key string) (string, error) {
	refs, err := s.All()
	return refs[key], err
}

// All gives the references by their keys.
func (s *Snapshots) All() (map[string]string, error) {
	b, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	refs := map[string]string{}
	if err == nil {
		err = json.Unmarshal(b, &refs)
	}
	if err != nil {
		return nil, fmt.Errorf("read the references to snapshots: %w", err)
	}
	return refs, nil
}

// Put records the reference of a snapshot that was made, and gives the one that it replaces, which may be deleted then.
func (s *Snapshots) Put(ctx context.Context, key, ref string) (old string, err error) {
	err = s.edit(ctx, func(refs map[string]string) {
		old = refs[key]
		refs[key] = ref
	})
	return old, err
}

// Drop forgets a reference that turned out to be of no use, unless another one was recorded meanwhile.
func (s *Snapshots) Drop(ctx context.Context, key, ref string) error {
	return s.edit(ctx, func(refs map[string]string) {
		if refs[key] == ref {
			delete(refs, key)
		}
	})
}

func (s *Snapshots) edit(ctx context.Context, change func(map[string]string)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("make the directory of references to snapshots: %w", err)
	}
	return atomicfile.Update(ctx, s.path, 0o600, func(old []byte) ([]byte, error) {
		refs := map[string]string{}
		if len(old) > 0 {
			if err := json.Unmarshal(old, &refs); err != nil {
				return nil, fmt.Errorf("read the references to snapshots: %w", err) // which are not to be lost
			}
		}
		change(refs)
		return json.MarshalIndent(refs, "", "  ")
	})
}
