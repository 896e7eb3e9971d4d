package envs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Override is what one task changes about its environment, by configuration key.
type Override map[string]string

// KeyCwd starts a task in a directory of its own.
const KeyCwd = "cwd"

// KeyBackend runs a task in another backend.
const KeyBackend = "env_type"

// apart lists the keys that give a task an environment of its own. The names are fixed: embedders of the original register them.
var apart = []string{KeyBackend, "docker_image", "modal_image", "singularity_image", "daytona_image"}

// alone reports whether the task can't share the default environment.
func (o Override) alone() bool {
	return slices.ContainsFunc(apart, func(k string) bool { return o[k] != "" })
}

// moves reports whether a task with this override works elsewhere once it has the other one.
func (o Override) moves(to Override) bool {
	return slices.ContainsFunc(apart, func(k string) bool { return o[k] != to[k] })
}

func (o Override) check() error {
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if k != KeyCwd && !slices.Contains(apart, k) {
			return fmt.Errorf("override %q is not known; there are %s, %s", k, KeyCwd, strings.Join(apart, ", "))
		}
	}
	return nil
}
