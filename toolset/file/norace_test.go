//go:build !race

package file_test

const raced = false
