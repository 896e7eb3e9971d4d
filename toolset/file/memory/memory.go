// Package memory is what the file tools remember of a task: what it read and in which state that was, what it asked for last, and
// which of its edits failed; and what all tasks of one place have to know of each other's writes.
package memory

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

// Bounds of what is kept; the oldest goes.
const (
	maxReads   = 500
	maxRepeats = 1000
	maxStamps  = 1000
	maxIndexes = 64
)

// seed makes the hashes of this process comparable with each other.
var seed = maphash.MakeSeed()

// NewHash begins the hash of a content.
func NewHash() *maphash.Hash {
	h := &maphash.Hash{}
	h.SetSeed(seed)
	return h
}

// Hash is that of a whole content.
func Hash(b []byte) uint64 { return maphash.Bytes(seed, b) }

// Stamp is the state of a file.
type Stamp struct {
	Device, Inode uint64
	Size          int64
	ModTime       time.Time
	Hash          uint64 // of the whole content; 0 = not known
}

// StampOf is the state that info tells of.
func StampOf(info environment.FileInfo) Stamp {
	return Stamp{Device: info.Device, Inode: info.Inode, Size: info.Size, ModTime: info.ModTime}
}

// Same compares two states. Hashes count where both are known.
func (s Stamp) Same(o Stamp) bool {
	return s.Device == o.Device && s.Inode == o.Inode && s.Size == o.Size && s.ModTime.Equal(o.ModTime) &&
		(s.Hash == 0 || o.Hash == 0 || s.Hash == o.Hash)
}

// Book is the memory of one task in one place. A nil Book remembers nothing.
type Book struct {
	name   string // of the task
	number uint64 // of the call among the task's; 0 = they aren't counted
	place  string
	task   *task
	shared *shared
}

type (
	taskKey   struct{}
	sharedKey struct{}
)

// placeEnd stands between the place and the path in the key of a file.
const placeEnd = "\x00"

// Open finds the memory of the task that a call belongs to. m nil gives a nil Book.
func Open(m *tool.Memory, c *tool.Call, info environment.Info) *Book {
	if m == nil {
		return nil
	}
	return &Book{
		name: c.Task, number: c.Number, place: info.Backend + "\x00" + info.ID + placeEnd,
		task:   m.Of(c.Task, taskKey{}, func() any { return newTask() }).(*task),
		shared: m.Of("", sharedKey{}, func() any { return newShared() }).(*shared),
	}
}

func (b *Book) key(p environment.Path) string { return b.place + string(p) }

// task is what belongs to one task.
type task struct {
	mu     sync.Mutex
	reads  bounded[string, *reading]
	failed bounded[string, int]
	last   streak
}

func newTask() *task {
	return &task{reads: newBounded[string, *reading](maxReads), failed: newBounded[string, int](maxRepeats)}
}

// shared is what all tasks know.
type shared struct {
	mu      sync.Mutex
	clock   uint64 // counts reads and writes
	writes  bounded[string, writing]
	indexes bounded[string, *Index]
	turns   map[string]*turn // of paths that are being edited
}

func newShared() *shared {
	return &shared{
		writes: newBounded[string, writing](maxStamps), indexes: newBounded[string, *Index](maxIndexes), turns: map[string]*turn{},
	}
}

func (s *shared) tick() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	return s.clock
}

// writing is the last write of a path.
type writing struct {
	task string
	at   uint64
}

// bounded is a map that drops its oldest entry when it is full.
type bounded[K comparable, V any] struct {
	max   int
	m     map[K]V
	order []K
}

func newBounded[K comparable, V any](limit int) bounded[K, V] {
	return bounded[K, V]{max: limit, m: map[K]V{}}
}

func (b *bounded[K, V]) put(k K, v V) {
	if _, had := b.m[k]; !had {
		for len(b.m) >= b.max && len(b.order) > 0 {
			delete(b.m, b.order[0])
			b.order = b.order[1:]
		}
		b.order = append(b.order, k)
		if len(b.order) > 2*b.max { // names that were dropped meanwhile
			kept := b.order[:0:0]
			for _, o := range b.order {
				if _, there := b.m[o]; there || o == k {
					kept = append(kept, o)
				}
			}
			b.order = kept
		}
	}
	b.m[k] = v
}

func (b *bounded[K, V]) drop(k K) { delete(b.m, k) }
