//go:build linux || darwin

package group

import (
	"slices"
	"strings"
)

// Orphans finds what still lives of the groups of an owner: cgroups named after it, and processes that carry its mark. Only call it
// for an owner that is dead. Groups whose ids are in but are passed over.
func Orphans(o Owner, but []string) []*Group {
	prefix := o.String() + "."
	found := map[string]*Group{}
	for id, dir := range cgroupsOf(prefix) {
		found[id] = &Group{id: id, cgroup: &cgroup{dir: dir}, known: map[int]uint64{}, sessions: map[int]bool{}}
	}
	for _, id := range marksOf(prefix) {
		if found[id] == nil {
			found[id] = Find(Record{ID: id})
		}
	}
	var list []*Group
	for id, g := range found {
		if !slices.Contains(but, id) {
			list = append(list, g)
		}
	}
	return list
}

// Tidy removes empty cgroups of owners that are dead.
func Tidy() {
	for id, dir := range cgroupsOf("hermes-") {
		if dead(id) {
			(&cgroup{dir: dir}).remove() // fails while someone is in it
		}
	}
	tidyV1()
}

// marks gives the ids with prefix among the marks of an environment block.
func marks(block []byte, prefix string) []string {
	var ids []string
	for entry := range strings.SplitSeq(string(block), "\x00") {
		v, ok := strings.CutPrefix(entry, Variable+"=")
		if !ok {
			continue
		}
		for id := range strings.SplitSeq(v, ",") {
			if strings.HasPrefix(id, prefix) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
