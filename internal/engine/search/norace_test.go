//go:build !race

package search_test

// thin is by how much tests that compare many answers are thinned out: not at all.
const thin = 1
