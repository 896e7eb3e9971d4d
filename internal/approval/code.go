package approval

import (
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// codeFindings judges a Python script as a whole.
func (g *Gate) codeFindings(*Request) ([]rules.Finding, *analysis.Reading) { return nil, nil }
