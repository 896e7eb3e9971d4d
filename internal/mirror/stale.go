package mirror

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// watch looks after single files that the place shows itself. What is shown is one file for good, and programs renew credentials by putting
// another in its place: whoever works there reads the old one then, and has to be told.
func (p *place) watch(ctx context.Context) {
	i := p.env.Info()
	for _, t := range p.m.o.Trees(p.key) {
		host, err := t.where()
		if err != nil || !t.File {
			continue
		}
		inside, shown := i.Shown(host)
		now, err := os.Stat(host)
		if err != nil || !shown {
			continue
		}
		if was, ok := p.seen[t.Name]; ok && os.SameFile(was, now) && was.ModTime().Equal(now.ModTime()) {
			continue
		}
		there, err := p.env.Files().Stat(ctx, inside)
		if err != nil {
			continue // the next look may tell
		}
		if p.seen == nil {
			p.seen = map[string]os.FileInfo{}
		}
		p.seen[t.Name] = now
		if there.Size != now.Size() || !told(there.ModTime, now.ModTime()) {
			text := fmt.Errorf("another file was put in the place of %s; commands there read the old one as ~/%s/%[1]s until the place is made anew", t.Name, environment.SharedDir)
			p.m.warn("a file that "+p.name()+" shows is out of date", text)
			p.m.tell(text.Error())
		}
	}
}

// told tells whether a place that may know whole seconds alone says of a time that it is this one.
func told(there, here time.Time) bool {
	return there.Equal(here) || there.Nanosecond() == 0 && there.Unix() == here.Unix()
}
