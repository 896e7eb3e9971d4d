package search

// RipgrepAlone is a searcher that takes the lines shown from ripgrep too, so that all of its answer can be compared.
func RipgrepAlone() *Searcher {
	s := New(Options{Engine: Ripgrep})
	s.rg.showsToo = true
	return s
}

// ShortLines has lines searched only so far, in bytes, until the test ends.
func ShortLines(t interface{ Cleanup(func()) }, n int) {
	before := maxPiece
	maxPiece = n
	t.Cleanup(func() { maxPiece = before })
}
