package script

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
)

// progress tells who watches how a run goes: its lines as they come, and a sign of life.
type progress struct {
	x  *run
	wg sync.WaitGroup // of the next sign of life

	mu     sync.Mutex
	ended  bool
	disarm func() bool
	last   time.Time // of a report
	line   []byte    // the unfinished last line
}

const (
	heartbeat   = 10 * time.Second       // a report at least so often (XL-10)
	lineSpacing = 100 * time.Millisecond // lines are told at most so often
	lineMax     = 500                    // characters of a line that is told
)

func newProgress(x *run) *progress { return &progress{x: x} }

func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arm()
}

// arm plans the next sign of life. p.mu is held.
func (p *progress) arm() {
	if p.ended {
		return
	}
	p.wg.Add(1)
	p.disarm = p.x.r.o.Clock.AfterFunc(heartbeat, func() {
		defer p.wg.Done()
		p.tell(p.state())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.arm()
	})
}

// stop returns when nothing more will be told but lines.
func (p *progress) stop() {
	p.mu.Lock()
	p.ended = true
	if p.disarm() {
		p.wg.Done()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *progress) state() string {
	made, open := p.x.gate.counts()
	s := fmt.Sprintf("%d s, %d tool calls made, %d open", int(p.elapsed()), made, open)
	if p.x.clock.isStanding() {
		s += ", waiting for a person"
	}
	return s
}

func (p *progress) elapsed() float64 { return p.x.r.o.Clock.Now().Sub(p.x.began).Seconds() }

func (p *progress) tell(text string) {
	p.x.call.Host.Progress(p.elapsed(), p.x.cfg.Timeout.Seconds(), text)
}

// text takes what was printed and tells the last whole line of it.
func (p *progress) text(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := bytes.LastIndexByte(b, '\n')
	if end < 0 {
		p.keep(b)
		return
	}
	whole := b[:end]
	line := whole[bytes.LastIndexByte(whole, '\n')+1:]
	if len(line) == len(whole) {
		line = append(p.line, line...)
	}
	text := strings.TrimSpace(clip(string(line[:min(len(line), 4*lineMax)]), lineMax))
	p.line = p.line[:0]
	p.keep(b[end+1:])
	if now := time.Now(); text != "" && now.Sub(p.last) >= lineSpacing {
		p.last = now
		p.tell(text)
	}
}

func (p *progress) keep(b []byte) {
	p.line = append(p.line, b[:min(len(b), max(0, 4*lineMax-len(p.line)))]...)
}
