package vercel

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
)

// The tags of sandboxes.
const (
	tagTask = "hermes_task_id"
	tagHome = "hermes_home"
	tagUse  = "hermes_use" // stands for one asking for a sandbox, or for all of a home where they are kept
)

// namePrefix begins the names of sandboxes.
const namePrefix = "hermes-"

// endTime bounds the end of a sandbox that was made in vain.
const endTime = 20 * time.Second

// keptFor is how long Vercel keeps the files of a sandbox that is stopped.
const keptFor = 30 * 24 * time.Hour

// plan decides what the sandbox is called and made of. One that is kept has a name by which the same task finds it again, as long as it
// would be made of the same; others have one that nobody has had.
func (p *place) plan() {
	c := create{
		Project: p.a.project, Runtime: p.c.Runtime, Timeout: idle.Milliseconds(), Resources: resources{p.c.cpus()}, Persistent: p.c.Kept,
	}
	if !p.c.Network {
		c.Network = &policy{"deny-all"}
	}
	if gets := c.Resources.CPUs * memoryPerCPU; p.c.MemoryMB != defaultMemory && p.c.MemoryMB > gets {
		p.base.Notes = append(p.base.Notes, fmt.Sprintf("a sandbox with %d processors has %d MB of memory, less than terminal.container_memory asks for", c.Resources.CPUs, gets))
	}
	mark := token()
	if p.c.Kept {
		c.Keep = &keepLast{Count: 1, DeleteEvicted: true}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d %v", p.owner, p.o.Key, c.Runtime, c.Resources.CPUs, p.c.Network))
		mark = hex.EncodeToString(sum[:6])
	}
	p.name = namePrefix + plainName(p.o.Key) + "-" + mark
	c.Name = p.name
	c.Tags = map[string]string{tagTask: plainName(p.o.Key), tagHome: p.owner, tagUse: mark}
	p.want = c
}

func token() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// plainName is what of a key may stand in a name.
func plainName(key string) string {
	key = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, key), "-")
	if key == "" {
		key = "unknown"
	}
	return strings.TrimRight(key[:min(len(key), 30)], "-")
}

// obtain finds or makes the sandbox and has it run. It is in the ledger before anything is asked for; what was made in vain is deleted.
func (p *place) obtain(ctx context.Context) error {
	if p.c.Kept {
		release, err := p.ledger.Alone(ctx, p.name)
		if err != nil {
			return err
		}
		defer release()
	}
	use, err := p.ledger.Enter(ctx, cloud.Record{
		Backend: name, Name: p.name, At: p.a.api.Base.String(), Account: p.a.account, Task: p.o.Key,
		Idle: int(idle.Seconds()), Lifetime: int(keptFor.Seconds()), Kept: p.c.Kept,
	}, p.c.MaxPlaces)
	if err != nil {
		return err
	}
	p.use = use
	err = p.wake(ctx)
	if errors.Is(err, environment.ErrGone) {
		err = p.makeNew(ctx)
	}
	if err == nil {
		err = use.Made(ctx, p.name)
	}
	if err != nil {
		p.undo(ctx)
	}
	return err
}

// wake has a sandbox run that was kept. Without one it is ErrGone.
func (p *place) wake(ctx context.Context) error {
	if !p.c.Kept {
		return goneError(p.name)
	}
	s, _, err := p.a.get(ctx, p.name, false)
	if err != nil {
		return err
	}
	if s.Tags[tagUse] != p.want.Tags[tagUse] {
		p.doubt = keep
		return takenError(p.name)
	}
	p.doubt = stop
	s, _, err = p.a.up(ctx, p.name, wakeTime)
	p.runs(s, time.Time{})
	return err
}

// makeNew makes the sandbox.
func (p *place) makeNew(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.c.StartTimeout, fmt.Errorf("the sandbox did not run within %v", p.c.StartTimeout))
	defer cancel()
	asked := time.Now()
	_, begun, err := p.a.make(ctx, p.want)
	p.doubt = keep
	if begun {
		p.doubt = remove
	}
	if err != nil {
		return err
	}
	p.anew = true
	s, _, err := p.a.up(ctx, p.name, p.c.StartTimeout)
	p.runs(s, asked.Add(idle))
	return err
}

// doubt is what is to be done about a sandbox whose start failed.
type doubt int

const (
	keep   doubt = iota // there is none, or it is somebody else's
	stop                // it was there before
	remove              // it was made, or may have been
)

// undo ends what a failed start leaves. What can't be ended stays in the ledger.
func (p *place) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	var err error
	switch p.doubt {
	case keep:
		err = p.use.Gone(ctx)
	case stop:
		err = p.use.LeaveAlone(ctx, p.endRecorded)
	case remove:
		err = p.use.Throw(ctx, p.removeRecorded)
	}
	if err != nil {
		p.log.Warn("a sandbox whose start failed can't be ended; the next start tries again", "sandbox", p.name, "error", err)
	}
}

// removeRecorded deletes a place of the ledger, whether it is kept or not.
func (p *place) removeRecorded(ctx context.Context, r cloud.Record) error {
	if err := p.a.remove(ctx, r.Name); err != nil && !errors.Is(err, environment.ErrGone) {
		return err
	}
	return nil
}

// giveUp lets go of a sandbox that is of no use.
func (p *place) giveUp(ctx context.Context) {
	if !p.anew {
		p.doubt = stop
	}
	if p.c.Kept {
		if release, err := p.ledger.Alone(ctx, p.name); err == nil {
			defer release()
		}
	}
	p.undo(ctx)
}
