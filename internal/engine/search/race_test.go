//go:build race

package search_test

// thin is by how much tests that compare many answers are thinned out: the race detector slows them down, and has seen all there is
// to see after a few.
const thin = 5
