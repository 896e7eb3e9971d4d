//go:build race

package storetest

// stride is how far apart the parts lie that are asked for: the detector of races makes SQLite ten times slower.
const stride = 17
