package engine

// Login is what a login shell of the user defines.
type Login struct {
	Environ  []string           // exported variables, "name=value"
	changed  map[string]*string // what differs from the variables that it began with
	Text     string             // functions and aliases, as text for bash
	Warnings []string           // what didn't work, for a person, once
}

// Over puts what the login shell exported on top of environ. A nil Login changes nothing.
func (l *Login) Over(environ []string) []string {
	if l == nil {
		return environ
	}
	return entries(apply(variables(environ), l.changed))
}
