package approval

import (
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// Report is every finding in a command, gravest first, and what the command will run.
type Report struct {
	Findings []rules.Finding
	Reading  *analysis.Reading
}

// Floor tells whether a finding is one that nobody can approve on a host-like environment.
func (r *Report) Floor() bool { return len(r.Findings) > 0 && r.Findings[0].Floor }

// Analyze reads a command and judges what it will run. It does no input or output.
func Analyze(command string, in analysis.Input) *Report {
	script, _ := analysis.Parse(command) // an error is a finding of the reading
	return AnalyzeScript(script, in)
}

// AnalyzeScript judges a script that was parsed before.
func AnalyzeScript(script *analysis.Script, in analysis.Input) *Report {
	in.Programs = rules.Programs()
	reading := script.Read(in)
	return &Report{Findings: rules.Check(reading), Reading: reading}
}

// DetectDangerousCommand tells whether a command holds a dangerous act, and gives the gravest one's key and description of it.
func DetectDangerousCommand(command string) (dangerous bool, key, description string) {
	report := Analyze(command, analysis.Input{})
	if len(report.Findings) == 0 {
		return false, "", ""
	}
	f := report.Findings[0]
	return true, f.Row.Key, f.Reason
}

// Pattern is one row of the table as a pair: what it matches, and the description that approvals are remembered by.
type Pattern struct {
	Pattern     string
	Description string
}

// DangerousPatterns lists every row.
func DangerousPatterns() []Pattern {
	out := make([]Pattern, len(rules.Table()))
	for i, r := range rules.Table() {
		out[i] = Pattern{r.Matches, r.Key}
	}
	return out
}

// Patterns lists every row of a gate: the built-in ones, and the user's.
func (g *Gate) Patterns() []Pattern {
	out := DangerousPatterns()
	if u := g.config.Rows; u != nil {
		for _, r := range u.own {
			out = append(out, Pattern{r.row.Matches, r.row.Key})
		}
	}
	return out
}
