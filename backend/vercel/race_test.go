//go:build race

package vercel_test

const raceEnabled = true
