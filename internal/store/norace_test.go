//go:build !race

package store_test

const (
	messagesEach = 1000
	kills        = 40
)
