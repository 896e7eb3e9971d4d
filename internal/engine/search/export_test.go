package search

// RipgrepAlone is a searcher that takes the lines shown from ripgrep too, so that all of its answer can be compared.
func RipgrepAlone() *Searcher {
	s := New(Options{Engine: Ripgrep})
	s.rg.showsToo = true
	return s
}
