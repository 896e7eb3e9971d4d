//go:build race

package cli_test

// With the race detector a process takes seconds to begin.
const chatKills = 6
