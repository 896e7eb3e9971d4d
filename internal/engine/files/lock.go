package files

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// lockShards bounds the number of lock files. Two paths of one shard wait for each other, which is slower and never wrong.
const lockShards = 4096

// lockPoll is how often a lock that another process holds is tried again.
const lockPoll = 5 * time.Millisecond

// locks order the writers of one path: within the process by a table, beyond it by lock files.
type locks struct {
	dir  string
	wait time.Duration

	mu   sync.Mutex
	held map[string]*heldLock
}

// heldLock is a shard in use; waiting goroutines queue on turn.
type heldLock struct {
	turn  chan struct{} // holds one token while the shard is free
	users int
}

// record is what a writer leaves beside its lock while a temporary file exists, for Sweep after a crash.
type record struct {
	Temp    string `json:"temp,omitempty"`    // to be removed
	Restore string `json:"restore,omitempty"` // being overwritten in place
	Copy    string `json:"copy,omitempty"`    // what it held, whole and synced
	Device  uint64 `json:"device,omitempty"`  // with Inode the file that Copy belongs to
	Inode   uint64 `json:"inode,omitempty"`
}

// grip is a set of shards held.
type grip struct {
	names  []string
	free   []func()
	dir    string
	noted  bool
	record *os.File // open once something was noted
}

// pathShard and fileShard are names of two disjoint sets. A path is locked before a file, which keeps waiting free of cycles.
func pathShard(path string) string { return shard("p", lockKey(path)) }

func fileShard(device, inode uint64) string {
	return shard("f", fmt.Sprintf("%d:%d", device, inode))
}

func shard(kind, key string) string {
	h := fnv.New32a()
	h.Write([]byte(key))
	return fmt.Sprintf("%s-%03x", kind, h.Sum32()%lockShards)
}

// hold waits until it has all of the shards, in one order for everybody. The grip must be released.
func (l *locks) hold(ctx context.Context, shards ...string) (*grip, error) {
	ctx, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	slices.Sort(shards)
	g := &grip{dir: l.dir}
	if err := g.add(ctx, l, slices.Compact(shards)); err != nil {
		g.release()
		return nil, err
	}
	return g, nil
}

// extend adds the shard of a file to a grip of paths.
func (l *locks) extend(ctx context.Context, g *grip, name string) error {
	ctx, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	return g.add(ctx, l, []string{name})
}

func (g *grip) add(ctx context.Context, l *locks, shards []string) error {
	for _, name := range shards {
		free, err := l.take(ctx, name)
		if err != nil {
			return fmt.Errorf("another writer holds the file: %w", err)
		}
		g.free = append(g.free, free)
		g.names = append(g.names, name)
	}
	return nil
}

// release lets go in the reverse order.
func (g *grip) release() {
	g.forget()
	for _, free := range slices.Backward(g.free) {
		free()
	}
	g.free = nil
}

// take waits for one shard.
func (l *locks) take(ctx context.Context, name string) (free func(), err error) {
	l.mu.Lock()
	h := l.held[name]
	if h == nil {
		h = &heldLock{turn: make(chan struct{}, 1)}
		h.turn <- struct{}{}
		l.held[name] = h
	}
	h.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case <-h.turn:
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
	unlock, err := l.takeFile(ctx, name)
	free = func() {
		unlock()
		h.turn <- struct{}{}
		leave()
	}
	if err != nil {
		free()
		return nil, err
	}
	return free, nil
}

// takeFile waits for the lock that other processes see. unlock is never nil.
func (l *locks) takeFile(ctx context.Context, name string) (unlock func(), err error) {
	if l.dir == "" {
		return func() {}, nil
	}
	file := filepath.Join(l.dir, name+".lock")
	lock := flock.New(file)
	ok, err := lock.TryLock()
	if os.IsNotExist(err) {
		if err = os.MkdirAll(l.dir, 0o700); err == nil {
			ok, err = lock.TryLock()
		}
	}
	if err == nil && !ok {
		ok, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil || !ok {
		return func() { lock.Close() }, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { lock.Close() }, nil
}

// note writes down what must be cleared up if this process dies now. Without a lock directory there is nowhere to write it. The
// record is written over the one before it: to cut a file and fill it again has ext4 write it out at once.
func (g *grip) note(r record) error {
	if g.dir == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if g.record == nil {
		if g.record, err = os.OpenFile(g.recordFile(), os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
			return err
		}
	}
	g.noted = true
	_, err = g.record.WriteAt(text, 0)
	return err
}

// nothingNoted is how a record begins that asks for nothing.
const nothingNoted = "-"

// forget strikes the record out: nothing is left to clear up. The file stays, as making it anew costs more.
func (g *grip) forget() {
	if g.noted {
		_, _ = g.record.WriteAt([]byte(nothingNoted), 0)
		g.noted = false
	}
	if g.record != nil {
		_ = g.record.Close()
		g.record = nil
	}
}

// keep leaves the record for Sweep although the writer is done.
func (g *grip) keep() { g.noted = false }

func (g *grip) recordFile() string { return filepath.Join(g.dir, g.names[0]+".record") }
