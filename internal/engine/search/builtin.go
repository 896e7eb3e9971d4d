package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hermes-runtime/hermes/environment"
)

// builtin is the engine that needs nothing but this process: one goroutine walks, one per processor reads and matches.
type builtin struct{}

func (*builtin) name() string { return Builtin }
func (*builtin) sorted() bool { return true }

// Sizes of the pipeline.
const (
	batchSize  = 64  // files handed to a worker at once
	batchAhead = 256 // batches that may be under way
)

// batch is some files of one directory, and what was found in them.
type batch struct {
	dir        string
	names      []string
	counts     []int // matching lines, per name
	unreadable int
	done       chan struct{}
}

func (b *builtin) count(ctx context.Context, j *job, report func(rel string, lines int) bool) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := &pipeline{j: j, work: make(chan *batch, batchAhead), order: make(chan *batch, batchAhead)}
	var unreadable atomic.Int64
	p.group.Go(func() {
		w := &walk{j: j, visit: func(dir string, names []string) bool { return p.send(ctx, dir, names) }}
		p.walkErr = w.run(ctx)
		unreadable.Add(w.unreadable.Load())
		close(p.work)
		close(p.order)
	})
	for range runtime.GOMAXPROCS(0) {
		p.group.Go(func() { p.worker(ctx) })
	}
	err := p.collect(ctx, report, &unreadable)
	stop()
	if !settle(ctx, &p.group) {
		return int(unreadable.Load()), err
	}
	if err == nil && p.walkErr != nil && !errors.Is(p.walkErr, context.Canceled) {
		err = p.walkErr
	}
	return int(unreadable.Load()), err
}

// pipeline is one count under way.
type pipeline struct {
	j       *job
	work    chan *batch
	order   chan *batch // the same batches, in the order of the walk
	group   sync.WaitGroup
	walkErr error
}

// send hands out the files of one directory.
func (p *pipeline) send(ctx context.Context, dir string, names []string) bool {
	for len(names) > 0 {
		n := min(len(names), batchSize)
		b := &batch{dir: dir, names: names[:n], counts: make([]int, n), done: make(chan struct{})}
		names = names[n:]
		for _, c := range []chan *batch{p.order, p.work} {
			select {
			case c <- b:
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}

func (p *pipeline) worker(ctx context.Context) {
	r := newReader(p.j)
	for b := range p.work {
		for i, name := range b.names {
			if ctx.Err() != nil {
				break
			}
			rel := joinRel(b.dir, name)
			if p.j.skipped(rel) {
				continue
			}
			n, err := r.count(ctx, filepath.Join(p.j.root, rel))
			switch {
			case err == nil:
				b.counts[i] = n
				if r.pieces.cut { // not all of it was searched
					b.unreadable++
				}
			case ctx.Err() == nil && !errors.Is(err, errBinary) && !errors.Is(err, fs.ErrNotExist):
				b.unreadable++
			}
		}
		close(b.done)
	}
}

// collect reports in order, until it is told that it is enough.
func (p *pipeline) collect(ctx context.Context, report func(rel string, lines int) bool, unreadable *atomic.Int64) error {
	for b := range p.order {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		unreadable.Add(int64(b.unreadable))
		for i, n := range b.counts {
			if n > 0 && !report(joinRel(b.dir, b.names[i]), n) {
				return nil
			}
		}
	}
	return ctx.Err()
}

// settle waits for goroutines that end by themselves, or soon after ctx does. One that hangs in a disk that doesn't answer is given a
// moment and then left: it holds nothing that is needed, and nobody can end it.
func settle(ctx context.Context, group *sync.WaitGroup) bool {
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return waitBriefly(ended)
	}
}

// reader searches one file after the other.
type reader struct {
	j       *job
	scanner *scanner
	pieces  pieces
}

func newReader(j *job) *reader { return &reader{j: j, scanner: newScanner(j.pattern)} }

// linesBetweenChecks is how many matching lines are counted before the context is looked at again.
const linesBetweenChecks = 1024

// count gives the number of matching lines.
func (r *reader) count(ctx context.Context, path string) (int, error) {
	f, err := openFile(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	for r.pieces.open(f, pieceSize); ; {
		text, err := r.pieces.next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		r.scanner.load(text)
		for at := 0; ; {
			_, end, ok := r.scanner.line(at)
			if !ok {
				break
			}
			at = end + 1
			if n++; n%linesBetweenChecks == 0 && ctx.Err() != nil {
				return 0, ctx.Err()
			}
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
}

func (b *builtin) extract(ctx context.Context, j *job, pages []filePage) ([]environment.Match, error) {
	r := newReader(j)
	var all []environment.Match
	for _, page := range pages {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		if m, err := r.extract(page); err == nil { // else it isn't any more what was counted
			all = append(all, m...)
		}
	}
	return all, nil
}

// extract gives some matching lines of one file, with context.
func (r *reader) extract(page filePage) ([]environment.Match, error) {
	f, err := openFile(filepath.Join(r.j.root, page.rel))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g := &gatherer{job: r.j, page: page}
	first := 1 // number of the first line of the piece
	for r.pieces.open(f, pieceSize); !g.full(); {
		text, err := r.pieces.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		r.scanner.load(text)
		r.gather(g, text, first)
		first += bytes.Count(text, []byte{'\n'})
	}
	return g.matches, nil
}

// gather feeds the lines of a piece that matter.
func (r *reader) gather(g *gatherer, text []byte, number int) {
	at := 0
	for !g.full() {
		start, end, ok := r.scanner.line(at)
		if !ok {
			start = len(text)
		}
		if g.Context > 0 {
			g.between(text[at:start], number)
		}
		if !ok {
			return
		}
		number += bytes.Count(text[at:start], []byte{'\n'})
		g.match(number, text[start:end], r.scanner.find(text[start:end]))
		number++
		at = min(end+1, len(text))
	}
}
