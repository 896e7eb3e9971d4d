//go:build !race

package storetest

// stride is how far apart the parts lie that are asked for.
const stride = 1
