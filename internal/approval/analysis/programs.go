package analysis

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// carriers are the programs that run what they are given, in order. A command word that is only partly known is compared with them
// and with Input.Programs: a word that can be none of them hides nothing.
var carriers = sync.OnceValue(func() []string {
	set := map[string]bool{"eval": true, "source": true, ".": true, "su": true, "runuser": true, "trap": true, "alias": true, "fd": true,
		"fdfind": true, "find": true, "script": true}
	for name := range strings.FieldsSeq(specials) {
		set[name] = true
	}
	for name := range wrappers() {
		set[name] = true
	}
	for name := range interpreters() {
		set[name] = true
	}
	return slices.Sorted(maps.Keys(set))
})

// carrierSet is the same list to look a name up in.
var carrierSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, name := range carriers() {
		set[name] = true
	}
	return set
})
