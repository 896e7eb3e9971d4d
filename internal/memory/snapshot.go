package memory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/textcap"
)

// titles head the parts of a snapshot.
var titles = map[Target]string{
	Agent: "Your notes from earlier sessions",
	User:  "What you noted about the user",
}

// Snapshot is the notes as a system prompt shows them, "" where there are none. The text is for one session from its start: it
// doesn't change with the files. What is wrong with a file leaves the other as it is.
func (f *Files) Snapshot() (string, error) {
	var parts []string
	var failed []error
	for _, t := range Targets {
		entries, err := f.read(t)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(entries) == 0 {
			continue
		}
		s := State{Target: t, Limit: f.limits[t], Used: used(entries)}
		parts = append(parts, fmt.Sprintf("## %s [%s]\n%s", titles[t], s.Usage(), shown(entries, s.Limit)))
	}
	return strings.Join(parts, "\n\n"), errors.Join(failed...)
}

// shown is entries as a model may read them: what no note should hold is named in its place, and what goes beyond the limit is left
// out.
func shown(entries []string, limit int) string {
	safe := make([]string, len(entries))
	for i, e := range entries {
		safe[i] = e
		if found, _ := Screen(e); found != "" {
			safe[i] = fmt.Sprintf("[an entry is left out here: it has %s]", found)
		}
	}
	return textcap.Head(format(safe), limit, "\n[the rest is left out: the file is longer than its limit]")
}
