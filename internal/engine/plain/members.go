package plain

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// lookForMembers prints the members of a group: those in the session of its shell, and those that carry its mark. Everything it needs is
// built into shells: where nothing can be started any more it still works. TERM is sent to all at once, the shell of the session first: one
// that outlived what it waits for would tell of that in its output. KILL is sent until nobody is seen, up to a bound: who forks meanwhile is
// seen by the next look. S, M and K are set before it.
const lookForMembers = `look() { F=; for p in /proc/[0-9]*; do p=${p#/proc/}
[ "$p" = "$$" ] && continue
{ read -r st </proc/$p/stat; } 2>/dev/null || continue
st=${st##*) }; set -- $st; [ "$1" = Z ] && continue; [ "$1" = X ] && continue
hit=; if [ -n "$S" ] && [ "$4" = "$S" ]; then hit=1; else
{ while IFS= read -r l || [ -n "$l" ]; do case $l in *"HERMES_GROUP=$M"*) hit=1; break;; esac; l=; done </proc/$p/environ; } 2>/dev/null
fi
[ -n "$hit" ] || continue
if [ "$p" = "$S" ]; then F="$p $F"; else F="$F $p"; fi
case $K in '') printf '%s ' "$p"; { tr '\0' ' ' </proc/$p/cmdline; } 2>/dev/null; echo;;
TERM) echo "$p";; *) kill -KILL "$p";; esac 2>/dev/null
done
[ "$K" = TERM ] && [ -n "$F" ] && { kill -TERM $F; kill -CONT $F; } 2>/dev/null; return 0; }
again() { i=0; while [ -n "$F" ] && [ $i -lt 50 ]; do i=$((i+1)); look; done; }
`

// members finds the members there and sends them a signal, if one is named.
func (r *call) members(ctx context.Context, signal string) ([]environment.ProcessRef, error) {
	var out strings.Builder
	script := fmt.Sprintf("S=%s M=%s K=%s\n%s", r.ctl.session(), r.mark, signal, lookForMembers) +
		`look; [ "$K" = KILL ] || exit 0; again; for p in $F; do echo "$p"; done`
	if _, err := r.p.exec(ctx, r.p.inShell(script), nil, &out, io.Discard); err != nil {
		return nil, err
	}
	var refs []environment.ProcessRef
	for line := range strings.Lines(out.String()) {
		id, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(id); err == nil {
			refs = append(refs, environment.ProcessRef{PID: pid, Command: strings.TrimSpace(command)})
		}
	}
	return refs, nil
}

// inShell has the place's own shell run a script: bash reads files faster than others, byte by byte as they do.
func (p *Place) inShell(script string) string {
	if !p.bash {
		return script
	}
	return "exec " + engine.Word(p.info.Shell, false) + " -c " + engine.Word(script, false)
}

// guard is a shell there that ends what the place's commands hold when contact ends without a goodbye: nobody else is there to notice.
type guard struct {
	once sync.Once
	in   *io.PipeWriter
	done chan struct{}
}

// goodbye is the line after which the guard leaves everything alone.
const goodbye = "bye"

// guarding waits for the end of its input, and a while longer: who lost contact is to see that before what runs there ends. M is set
// before it.
const guarding = `trap '' HUP INT TERM; IFS= read -r l; [ "$l" = ` + goodbye + ` ] && exit 0; exec >/dev/null 2>&1
sleep 2; K=TERM; look; sleep 1; K=KILL; look; again`

// begin starts the guard beside the first command.
func (g *guard) begin(p *Place) {
	g.once.Do(func() {
		var r *io.PipeReader
		r, g.in = io.Pipe()
		g.done = make(chan struct{})
		go func() { // ends with leave, or with contact
			defer close(g.done)
			script := fmt.Sprintf("S= M=%s\n%s", p.mark, lookForMembers) + guarding
			_, err := p.exec(p.life, p.inShell(script), r, io.Discard, io.Discard)
			_ = r.CloseWithError(err) // where there is none the commands are as safe as they were
		}()
	})
}

// leave says goodbye.
func (g *guard) leave(ctx context.Context) {
	g.once.Do(func() {})
	if g.in == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = g.in.CloseWithError(context.Cause(ctx)) })
	defer stop()
	_, _ = io.WriteString(g.in, goodbye+"\n")
	_ = g.in.Close()
	select {
	case <-g.done:
	case <-ctx.Done():
	}
}
