package hook

import "context"

// observe runs an observer off the path of the call: one goroutine takes events in order, and what doesn't fit into the queue is
// dropped and counted.
func (s *Set) observe(name, point string, f func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.queue == nil {
		s.start()
	}
	event := func(ctx context.Context) {
		if _, err := guard(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }); err != nil {
			s.failed(name, point, err)
		}
	}
	select {
	case s.queue <- event:
	default:
		s.dropped.Add(1)
	}
}

func (s *Set) start() {
	s.queue = make(chan func(context.Context), queueLength)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.worker.Go(func() {
		for event := range s.queue {
			event(ctx)
		}
	})
}

// Close lets the observers see what waits, and ends them when ctx does.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed || s.queue == nil {
		s.closed = true
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.worker.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		s.cancel()
		<-done
	}
	s.cancel()
	return nil
}
