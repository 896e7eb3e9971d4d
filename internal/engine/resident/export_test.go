//go:build linux || darwin

package resident

// SetMajor has this process speak another version of the protocol, as far as that shows in the name of the keeper's socket.
func SetMajor(v int) { major = v }

// TempHome is where jobs are kept below a directory for temporary files.
var TempHome = tempHome
