package staging

// mine is never true where scripts don't run.
func mine(string) bool { return false }
