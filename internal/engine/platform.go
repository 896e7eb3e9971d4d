package engine

// platforms are the operating systems on which commands run: those with process groups, sockets and a shell as the engine needs them.
var platforms = map[string]bool{"linux": true, "darwin": true}

// Unsupported says why commands don't run on an operating system (a value of runtime.GOOS), "" if they do.
func Unsupported(goos string) string {
	if platforms[goos] {
		return ""
	}
	return "commands can't be run on " + goos + " yet: process groups and shells are those of Unix; use WSL, or a backend on another machine"
}
