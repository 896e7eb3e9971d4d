package approval

import (
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// scriptLanguage is what scripts of agents are written in.
const scriptLanguage = "python3"

// codeFindings judges the text of a script as a whole: what it does by itself. The tools that it calls are judged as they are called.
func (g *Gate) codeFindings(req *Request) ([]rules.Finding, *analysis.Reading) {
	in := req.input()
	in.Programs, in.Files = rules.Programs(), g.files(req)
	reading := analysis.ReadCode(scriptLanguage, req.Command, in)
	return g.config.Rows.apply(rules.Check(reading), reading), reading
}
