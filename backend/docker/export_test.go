package docker

// HomeLabel is the label that stands for a HERMES_HOME.
func HomeLabel(home string) string { return homeLabel(home) }
