package resident

import (
	"context"
	"io"
	"strconv"
	"sync"

	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// forward keeps a socket for the client as long as its stream lives.
func (s *server) forward(st *wire.Stream, t *talk) error {
	var req forwardRequest
	if err := t.hear(&req); err != nil {
		return err
	}
	f, err := s.area.Forward(req.Files)
	if err != nil {
		return t.say(forwardAnswer{Error: failureOf(err)})
	}
	ctx, cancel := context.WithCancel(st.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := f.Accept()
			if err != nil {
				return // it is closed
			}
			work.Go(func() { s.join(ctx, c, opForwarded+strconv.FormatUint(req.ID, 10)) })
		}
	})
	if err = t.say(forwardAnswer{Dir: f.Dir(), Temp: f.Temp(), Socket: f.Socket()}); err == nil {
		_, _ = io.Copy(io.Discard, st.Reader(chMessages)) // until the client has had enough of it, or is gone
	}
	cancel()
	closed := f.Close()
	work.Wait()
	if err != nil {
		return err
	}
	return t.say(forwardAnswer{Error: failureOf(closed)})
}

// join carries a connection over to the client, both ways.
func (s *server) join(ctx context.Context, c io.ReadWriteCloser, head string) {
	st, err := s.conn.Open([]byte(head))
	if err != nil {
		_ = c.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close(); st.Reset("the socket is closed") })
	defer stop()
	var there sync.WaitGroup
	there.Go(func() {
		w := st.Writer(chBytes)
		_, _ = io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{c}) // whatever ends it, the other side learns that it is over
		_ = w.Close()
	})
	_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{st.Reader(chBytes)})
	_ = c.Close()
	there.Wait()
	_ = st.Finish()
}
