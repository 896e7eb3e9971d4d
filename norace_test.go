//go:build !race

package hermes_test

const (
	conversationsAtOnce = 200       // conversations that are had at once
	largeArguments      = 5_000_000 // bytes of the largest arguments of a call
)
