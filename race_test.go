//go:build race

package hermes_test

// The race detector makes everything several times slower and larger.
const (
	conversationsAtOnce = 24
	largeArguments      = 500_000
	everyRow            = 3
	everyHalt           = false
)
