//go:build race

package file_test

// raced says that the race detector watches: what a test gains by numbers alone is left to the run without it.
const raced = true
