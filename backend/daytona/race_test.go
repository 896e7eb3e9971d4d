//go:build race

package daytona_test

const raceEnabled = true
