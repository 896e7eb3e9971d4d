//go:build !race

package hermes_test

// conversationsAtOnce is how many conversations are had at once.
const conversationsAtOnce = 200
