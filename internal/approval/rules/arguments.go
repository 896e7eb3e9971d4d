package rules

import (
	"slices"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// parsed are the arguments of an act as one grammar reads them.
type parsed struct {
	grammar analysis.Grammar
	args    *analysis.Args
}

// Args parses the arguments of the act's command. Of a command with many words that is done once for each grammar, since several rows
// read the same programs by the same one.
func (a *Act) Args(g analysis.Grammar) *analysis.Args {
	if len(a.Words) <= few*few {
		return a.Command.Args(g)
	}
	for _, p := range a.args {
		if p.grammar.Short == g.Short && p.grammar.Brief == g.Brief && slices.Equal(p.grammar.Long, g.Long) {
			args := *p.args // callers take operands off
			return &args
		}
	}
	args := a.Command.Args(g)
	args.Operands, args.Names = slices.Clip(args.Operands), slices.Clip(args.Names)
	a.args = append(a.args, parsed{g, args})
	own := *args
	return &own
}
