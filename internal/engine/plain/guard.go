package plain

import (
	"context"
	"fmt"
	"io"
	"sync"
)

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
