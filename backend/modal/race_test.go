//go:build modal && race

package modal_test

const raceEnabled = true
