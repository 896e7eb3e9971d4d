//go:build race

package approval_test

// raced tells that the detector of races looks on, which makes a test some ten times slower.
const raced = true
