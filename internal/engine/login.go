package engine

// Login is what a login shell of the user defines.
type Login struct {
	Environ  []string // exported variables, "name=value"
	Text     string   // functions and aliases, as text for bash
	Warnings []string // what didn't work, for a person, once
}
