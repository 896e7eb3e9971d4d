//go:build !race

package hermes_test

const (
	conversationsAtOnce = 200       // conversations that are had at once
	largeArguments      = 5_000_000 // bytes of the largest arguments of a call
	everyRow            = 1         // of hostile replies one in so many is tried, through one API; 1 = all, through both
	everyHalt           = true      // turns are stopped in every way at every stage
)
