package environment

import (
	"context"
	"time"
)

// Measure is something that a place does and the usual client of its backend does as well.
type Measure string

// What benchmarks measure of a place. Values are ratios to the client; the last is one of throughputs.
const (
	MeasureEcho   Measure = "terminal echo hi"
	MeasureRead   Measure = "read_file"
	MeasureScript Measure = "execute_code print(1)"
	MeasureOpen   Measure = "opened and ready"
	MeasureFlood  Measure = "100 MB of output, throughput"
)

// Bare says how the usual client of a backend is measured beside its places.
type Bare struct {
	Client   string              // its name, for people
	Budgets  map[Measure]float64 // highest ratio to the client that is meant to be reached; for a throughput the lowest
	Settle   time.Duration       // what opening may take on top of that
	Settings map[string]string   // configuration of the places that are measured, so that nothing of them stays
	// Begin gets the client ready for the place that i describes.
	Begin func(ctx context.Context, o OpenOptions, i Info) (BareClient, error)
}

// BareClient is a client that is ready.
type BareClient struct {
	Argv []string // runs a script of sh in the place, which follows as the last argument
	// Open makes a place or a contact of its own with nothing of hermes in it, and gives what takes it back.
	Open  func(ctx context.Context) (undo func() error, err error)
	Close func() error
}
