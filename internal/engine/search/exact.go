package search

import (
	"regexp/syntax"
	"unicode/utf8"
)

// exact runs a program where package regexp would answer otherwise than the dialect: \b and \B by Unicode, and bytes that aren't
// UTF-8, which nothing matches. It is a plain simulation, for the few lines that need it.
type exact struct {
	prog       *syntax.Prog
	list, next []thread
	mark       []uint32 // per instruction: the step at which it was added last
	step       uint32
}

// thread is one way to match that is still open.
type thread struct {
	pc    uint32
	start int
}

func newExact(p *syntax.Prog) *exact {
	return &exact{prog: p, mark: make([]uint32, len(p.Inst))}
}

// find gives the leftmost match in line, -1 if there is none. The line stands alone: what is before and behind it is a line break.
func (e *exact) find(line []byte) (start, end int) {
	start, end = -1, -1
	e.list = e.list[:0]
	for at := 0; ; {
		r, size, valid := decode(line, at)
		e.begin()
		current := e.next[:0]
		for _, t := range e.list {
			current = e.add(current, t, line, at)
		}
		if start < 0 {
			current = e.add(current, thread{uint32(e.prog.Start), at}, line, at)
		}
		e.next = e.list[:0]
		e.list = current
		var moved []thread
		moved, start, end = e.advance(r, valid, at, start, end)
		e.list = moved
		if at >= len(line) || start >= 0 && len(moved) == 0 {
			return start, end
		}
		at += size
	}
}

func (e *exact) begin() { e.step++ }

// advance takes every thread over one character, best first. A thread that has matched ends all behind it.
func (e *exact) advance(r rune, valid bool, at, start, end int) ([]thread, int, int) {
	moved := e.list[:0]
	for _, t := range e.list {
		in := &e.prog.Inst[t.pc]
		if in.Op == syntax.InstMatch {
			return moved, t.start, at
		}
		if valid && in.MatchRune(r) {
			moved = append(moved, thread{in.Out, t.start})
		}
	}
	return moved, start, end
}

// add follows what takes no character.
func (e *exact) add(list []thread, t thread, line []byte, at int) []thread {
	if e.mark[t.pc] == e.step {
		return list
	}
	e.mark[t.pc] = e.step
	in := &e.prog.Inst[t.pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		list = e.add(list, thread{in.Out, t.start}, line, at)
		return e.add(list, thread{in.Arg, t.start}, line, at)
	case syntax.InstCapture, syntax.InstNop:
		return e.add(list, thread{in.Out, t.start}, line, at)
	case syntax.InstEmptyWidth:
		if holds(syntax.EmptyOp(in.Arg), line, at) {
			return e.add(list, thread{in.Out, t.start}, line, at)
		}
		return list
	case syntax.InstFail:
		return list
	}
	return append(list, t)
}

// holds reports whether a position fulfils conditions.
func holds(op syntax.EmptyOp, line []byte, at int) bool {
	var met syntax.EmptyOp
	if at == 0 {
		met |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if at == len(line) {
		met |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	if op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
		before, _ := utf8.DecodeLastRune(line[:at])
		after, _ := utf8.DecodeRune(line[at:])
		if words().has(before) != words().has(after) {
			met |= syntax.EmptyWordBoundary
		} else {
			met |= syntax.EmptyNoWordBoundary
		}
	}
	return op&^met == 0
}

func decode(line []byte, at int) (r rune, size int, valid bool) {
	if at >= len(line) {
		return 0, 0, false
	}
	r, size = utf8.DecodeRune(line[at:])
	return r, size, r != utf8.RuneError || size > 1
}
