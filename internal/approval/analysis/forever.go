package analysis

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// spawnsForever tells whether a loop without an end does nothing but start processes, and waits for none.
func spawnsForever(loop syntax.Command) bool {
	var body []*syntax.Stmt
	switch c := loop.(type) {
	case *syntax.WhileClause:
		if len(c.Cond) == 1 {
			if call, ok := c.Cond[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				name := staticText(call.Args[0].Parts)
				if !c.Until && (name == "true" || name == ":") || c.Until && name == "false" {
					body = c.Do
				}
			}
		}
	case *syntax.ForClause:
		if style, ok := c.Loop.(*syntax.CStyleLoop); ok && style.Cond == nil {
			body = c.Do
		}
	}
	return len(body) > 0 && !slices.ContainsFunc(body, func(s *syntax.Stmt) bool { return !inBackground(s) })
}

// inBackground tells whether a statement isn't waited for, itself or all in a group.
func inBackground(s *syntax.Stmt) bool {
	var group []*syntax.Stmt
	switch c := s.Cmd.(type) {
	case *syntax.Subshell:
		group = c.Stmts
	case *syntax.Block:
		group = c.Stmts
	}
	return s.Background || len(group) > 0 && !slices.ContainsFunc(group, func(s *syntax.Stmt) bool { return !inBackground(s) })
}
