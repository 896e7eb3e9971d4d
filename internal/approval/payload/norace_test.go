//go:build !race

package payload_test

// raced tells that the detector of races looks on, which makes a test some ten times slower.
const raced = false
