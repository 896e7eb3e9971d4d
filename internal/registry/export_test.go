package registry

// PlatformSets shows the entries that a session from a platform starts with.
func (r *Registry) PlatformSets(platform string) []string {
	return r.snap.Load().platformSets(platform)
}
