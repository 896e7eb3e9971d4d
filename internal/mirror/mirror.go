// Package mirror keeps files of this machine (skills, caches, credentials) in places that are elsewhere, and fetches back what changed
// in directories of them there.
//
// It works on the file system of any environment. What a place shows of this machine itself is left alone. What was brought is recorded
// in the place, in a file beside it, so that the record lives and dies with what it tells of.
package mirror

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
)

// Config is the part of `terminal:` that is about files which go to other places.
type Config struct {
	CredentialFiles []string `yaml:"credential_files" env:"TERMINAL_CREDENTIAL_FILES" help:"files below HERMES_HOME that commands elsewhere find below ~/.hermes; as a variable a JSON list"`
	SyncBack        bool     `yaml:"sync_back" env:"TERMINAL_SYNC_BACK" default:"true" help:"fetch skills and caches that were changed elsewhere when an environment is closed"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// Bounds of one push or fetch, and of a look at what there is.
const (
	lookEvery = 5 * time.Second
	waitMost  = 5 * time.Minute // between tries, while they fail
	mostBytes = 2 << 30
	mostFiles = 20000
	deepest   = 32 // directories below a tree
	sideways  = 8  // files under way at once
)

// fetchWaits are the waits between the tries of a fetch.
var fetchWaits = []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}

// Options makes a Mirror.
type Options struct {
	Home  string // HERMES_HOME
	Owner string // tells its records from those of others in the same place
	// Trees is what places of a key are to have. It is asked at each look.
	Trees    func(key string) []Tree
	NoFetch  bool            // what changed elsewhere stays there
	Always   bool            // look each time, and not every 5 s
	Waits    []time.Duration // between the tries of a fetch; nil = 2, 4, 8 s
	Log      *slog.Logger    // nil = nothing is logged
	Tell     func(string)    // says to the user what they have to know; nil = nobody listens
	Now      func() time.Time
	MaxBytes int64 // that one push or fetch brings; 0 = 2 GiB
}

// Mirror serves the places of one runtime. It is safe for concurrent use.
type Mirror struct {
	o Options

	mu     sync.Mutex
	places map[environment.Environment]*place
	told   map[string]bool
}

// New makes a mirror. It reads nothing.
func New(o Options) *Mirror {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Waits == nil {
		o.Waits = fetchWaits
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = mostBytes
	}
	return &Mirror{o: o, places: map[environment.Environment]*place{}, told: map[string]bool{}}
}

// place is what is known of one.
type place struct {
	m     *Mirror
	key   string
	env   environment.Environment
	turn  chan struct{} // held while something is done there
	next  time.Time     // of the next look; guarded by turn, as all below
	fails int
	root  environment.Path       // SharedDir of its home, links followed; "" = not known yet
	mine  bool                   // root is HERMES_HOME itself: the place has everything, and nothing may be written or removed
	known records                // what it has, as far as the last push settled it; nil = nothing is known
	sent  records                // what a push that wasn't settled has brought
	seen  map[string]os.FileInfo // single files that it shows itself, as they were here when they were last compared
}

// Share is what a place of a key is to show, as far as it is there.
func (m *Mirror) Share(key string) []environment.Share {
	var out []environment.Share
	for _, t := range m.o.Trees(key) {
		if t.Base == m.o.Home && !t.File { // so that what a place shows doesn't change with the first file in it
			if root, err := t.make(); err == nil {
				_ = root.Close()
			}
		}
		if host, err := t.where(); err == nil {
			out = append(out, environment.Share{Host: host, Name: t.Name})
		}
	}
	return out
}

// Push brings to a place what it lacks. A failure is told, and the next look tries again.
func (m *Mirror) Push(ctx context.Context, key string, e environment.Environment) {
	p := m.place(key, e)
	if !p.hold(ctx) {
		return
	}
	defer p.release()
	now := m.o.Now()
	if now.Before(p.next) && !(m.o.Always && p.fails == 0) {
		return
	}
	err := p.push(ctx)
	wait := lookEvery
	if err != nil {
		p.fails++
		wait = min(lookEvery<<min(p.fails, 10), waitMost)
		if ctx.Err() == nil {
			m.warn("files of this machine could not all be brought to "+p.name(), err)
		}
	} else {
		p.fails = 0
	}
	p.next = m.o.Now().Add(wait)
}

// Leave takes credentials back that nobody asks for any more, fetches what changed, and forgets the place.
func (m *Mirror) Leave(ctx context.Context, key string, e environment.Environment) {
	p := m.place(key, e)
	if !p.hold(ctx) {
		return
	}
	defer p.release()
	m.mu.Lock()
	delete(m.places, e)
	m.mu.Unlock()
	if err := p.leave(ctx); err != nil {
		m.warn("what changed in "+p.name()+" could not all be fetched", err)
		m.tell("what changed in " + p.name() + " below ~/" + environment.SharedDir + " could not all be fetched: " + err.Error())
	}
}

func (m *Mirror) place(key string, e environment.Environment) *place {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.places[e]
	if p == nil {
		p = &place{m: m, key: key, env: e, turn: make(chan struct{}, 1)}
		m.places[e] = p
	}
	return p
}

func (p *place) hold(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *place) release() { <-p.turn }

func (p *place) name() string {
	i := p.env.Info()
	return i.Backend + " " + i.ID
}

// warn tells each thing once.
func (m *Mirror) warn(what string, err error) {
	m.mu.Lock()
	known := m.told[what+err.Error()]
	m.told[what+err.Error()] = true
	m.mu.Unlock()
	if !known {
		m.o.Log.Warn(what, "error", err)
	}
}

func (m *Mirror) tell(text string) {
	if m.o.Tell != nil {
		m.o.Tell(text)
	}
}

// Inside is where a place has a file or directory that lies at host, an absolute path of this machine without links; false where it
// hasn't. Nothing is brought for it.
func (m *Mirror) Inside(key string, i environment.Info, host string) (environment.Path, bool) {
	for _, t := range m.o.Trees(key) {
		dir, err := t.where()
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(dir, host)
		if err != nil || !filepath.IsLocal(rel) || t.File && rel != "." {
			continue
		}
		if p, ok := i.Shown(host); ok {
			return p, true
		}
		return environment.SharedPath(i.Home, filepath.ToSlash(filepath.Join(filepath.FromSlash(t.Name), rel))), true
	}
	return "", false
}
