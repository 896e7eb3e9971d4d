// Package event is a small in-process bus for progress and log events: publishing never waits for anybody who listens.
package event

import (
	"sync"
	"sync/atomic"
)

// DefaultBuffer is how many events wait for a slow subscriber before further ones are dropped (HK-7).
const DefaultBuffer = 1000

// Bus hands each published event to every subscriber, in the order of publishing. The zero value is ready.
// All methods may be called concurrently.
type Bus[T any] struct {
	mu      sync.RWMutex // held shared while publishing, so that no channel is closed under a send
	subs    map[*Subscription[T]]struct{}
	closed  bool
	wg      sync.WaitGroup
	dropped atomic.Uint64
}

// Subscription is one listener. Its function runs on a goroutine of its own, one event after the other.
type Subscription[T any] struct {
	bus     *Bus[T]
	queue   chan T
	done    chan struct{}
	stop    sync.Once
	dropped atomic.Uint64
	panics  atomic.Uint64
}

// Subscribe calls handle for each event published from now on. At most buffer events wait for it (0: DefaultBuffer).
// A handler that panics loses that event only. On a closed bus the subscription has ended from the start.
func (b *Bus[T]) Subscribe(buffer int, handle func(T)) *Subscription[T] {
	if buffer <= 0 {
		buffer = DefaultBuffer
	}
	s := &Subscription[T]{bus: b, queue: make(chan T, buffer), done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		close(s.done)
		return s
	}
	if b.subs == nil {
		b.subs = map[*Subscription[T]]struct{}{}
	}
	b.subs[s] = struct{}{}
	b.wg.Go(func() {
		defer close(s.done)
		for e := range s.queue {
			s.deliver(handle, e)
		}
	})
	return s
}

// Publish queues e for all subscribers and returns at once. Who has no room left misses it; the miss is counted.
func (b *Bus[T]) Publish(e T) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for s := range b.subs {
		select {
		case s.queue <- e:
		default:
			s.dropped.Add(1)
			b.dropped.Add(1)
		}
	}
}

// Dropped returns how many deliveries were missed in all, ended subscriptions included.
func (b *Bus[T]) Dropped() uint64 { return b.dropped.Load() }

// Close ends the bus: what is queued is still delivered, and the goroutines of all subscribers have ended when it
// returns. Later events go nowhere. It must not be called from a handler. How long it takes is up to the handlers.
func (b *Bus[T]) Close() {
	b.mu.Lock()
	b.closed = true
	for s := range b.subs {
		s.end()
	}
	b.subs = nil
	b.mu.Unlock()
	b.wg.Wait()
}

// Cancel ends the subscription without waiting; what is queued is still delivered. It may be called from the handler.
func (s *Subscription[T]) Cancel() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if _, live := s.bus.subs[s]; live {
		delete(s.bus.subs, s)
		s.end()
	}
}

// Done is closed when the last event has been handled after Cancel or Close.
func (s *Subscription[T]) Done() <-chan struct{} { return s.done }

// Dropped returns how many events this subscriber missed.
func (s *Subscription[T]) Dropped() uint64 { return s.dropped.Load() }

// Panics returns how many events made the handler panic.
func (s *Subscription[T]) Panics() uint64 { return s.panics.Load() }

func (s *Subscription[T]) end() { s.stop.Do(func() { close(s.queue) }) }

func (s *Subscription[T]) deliver(handle func(T), e T) {
	defer func() {
		if recover() != nil {
			s.panics.Add(1)
		}
	}()
	handle(e)
}
