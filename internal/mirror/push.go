package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// push brings what changed here since the last one. Where nothing did it asks the place nothing.
func (p *place) push(ctx context.Context) error {
	p.watch(ctx)
	trees := p.brought()
	want := p.wanted(trees)
	if p.mine || p.known != nil && p.same(want) || p.known == nil && len(trees) == 0 {
		return nil
	}
	w, err := p.begin(ctx)
	if err != nil {
		return ignore(err, errMine)
	}
	defer w.end()
	return w.settle(ctx, w.make(ctx, want))
}

// brought are the trees that the place doesn't show itself.
func (p *place) brought() []Tree {
	i := p.env.Info()
	return slices.DeleteFunc(p.m.o.Trees(p.key), func(t Tree) bool { return t.shown(i) })
}

// wish is what a place is to have.
type wish struct {
	files  map[string]file // by name
	unseen []Tree          // couldn't be looked at: what there is of them stays
}

// gone tells whether a file that was brought is to be there no more.
func (w wish) gone(name string) bool {
	_, there := w.files[name]
	return !there && !slices.ContainsFunc(w.unseen, func(t Tree) bool { return name == t.Name || strings.HasPrefix(name, t.Name+"/") })
}

// wanted finds out what the place is to have. What is too much is left out, and told of: the first trees count most.
func (p *place) wanted(trees []Tree) wish {
	all, left := wish{files: map[string]file{}}, p.m.o.MaxBytes
	for _, t := range trees {
		some, err := t.scan()
		if err != nil {
			p.m.warn("files are not brought to "+p.name(), err)
			all.unseen = append(all.unseen, t)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(some)) {
			f := some[name]
			if f.size > left || len(all.files) == mostFiles {
				p.m.warn("a file is not brought to "+p.name(), fmt.Errorf("%s: there is room for %d MiB and %d files", name, p.m.o.MaxBytes>>20, mostFiles))
				continue
			}
			left -= f.size
			all.files[name] = f
		}
	}
	return all
}

func (p *place) same(want wish) bool {
	for name, f := range want.files {
		if r, ok := p.known[name]; !ok || !r.lies(f) {
			return false
		}
	}
	for name := range p.known {
		if want.gone(name) {
			return false
		}
	}
	return true
}

// make makes the place have what is wanted and nothing else of ours.
func (w *work) make(ctx context.Context, want wish) error {
	var todo, gone, rest []string
	for _, name := range slices.Sorted(maps.Keys(want.files)) {
		switch r, ok := w.now[name]; {
		case !ok || !r.lies(want.files[name]):
			todo = append(todo, name)
		case w.p.known == nil: // an earlier process brought it: who knows what became of it
			rest = append(rest, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.now)) {
		if want.gone(name) {
			gone = append(gone, name)
		}
	}
	err := w.look(ctx, todo, slices.Concat(gone, rest))
	var lost []string
	for _, name := range rest {
		if _, there := w.there(name); w.looked(name) && !there {
			w.forget(name)
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		err = errors.Join(err, w.look(ctx, lost, nil))
		todo = append(todo, lost...)
	}
	if !environment.Failed(err) && ctx.Err() == nil {
		err = errors.Join(err, each(ctx, todo, func(ctx context.Context, name string) error { return w.bring(ctx, name, want.files[name]) }), w.takeBack(ctx, gone))
	}
	return err
}
