//go:build nopython || !((linux && (amd64 || arm64)) || (darwin && (amd64 || arm64)))

package embedded

// original is nil in builds without an interpreter.
var original func(dir string) error
