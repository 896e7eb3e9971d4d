//go:build race

package store_test

// The detector of races makes SQLite ten times slower.
const (
	messagesEach = 50
	kills        = 5
)
