package approval

// kinds are the environments that there may be, by name, and whether one of them is the host as far as harm goes.
var kinds = map[string]bool{
	"local": true, "ssh": true, "docker": false, "singularity": false, "modal": false, "daytona": false, "vercel_sandbox": false,
}

// KindOf tells for the name of a kind of environment whether an ordinary one of it is host-like; known is false for other names.
func KindOf(name string) (hostLike, known bool) {
	hostLike, known = kinds[name]
	return hostLike, known
}
