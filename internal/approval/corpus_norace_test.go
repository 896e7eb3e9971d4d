//go:build !race

package approval_test

// raced is how many times slower the detector of races makes a test.
const raced = 1
