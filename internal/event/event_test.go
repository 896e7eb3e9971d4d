package event_test

import (
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/event"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestBus_DeliversInOrderToEverySubscriber(t *testing.T) {
	var bus event.Bus[int]
	var a, b []int
	bus.Subscribe(0, func(e int) { a = append(a, e) })
	bus.Subscribe(0, func(e int) { b = append(b, e) })
	for i := range 100 {
		bus.Publish(i)
	}
	bus.Close() // waits for both goroutines, so reading a and b is safe
	for i := range 100 {
		if a[i] != i || b[i] != i {
			t.Fatalf("event %d arrived as %d and %d", i, a[i], b[i])
		}
	}
}

func TestBus_SlowSubscriberBlocksNobodyAndItsLossIsCounted(t *testing.T) { // ASY-3, HK-7
	var bus event.Bus[int]
	gate, started := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := bus.Subscribe(2, func(int) { once.Do(func() { close(started) }); <-gate })
	bus.Publish(0)
	<-started // the handler holds event 0, two more fit into the queue
	for i := 1; i <= 10; i++ {
		bus.Publish(i)
	}
	if got := slow.Dropped(); got != 8 {
		t.Errorf("dropped %d, want 8", got)
	}
	if got := bus.Dropped(); got != 8 {
		t.Errorf("bus dropped %d, want 8", got)
	}
	close(gate)
	bus.Close()
}

func TestBus_PanickingHandlerLosesOneEventOnly(t *testing.T) { // ASY-3
	var bus event.Bus[int]
	var got []int
	s := bus.Subscribe(0, func(e int) {
		if e == 1 {
			panic("no")
		}
		got = append(got, e)
	})
	for i := range 3 {
		bus.Publish(i)
	}
	bus.Close()
	if len(got) != 2 || got[1] != 2 || s.Panics() != 1 {
		t.Errorf("got %v with %d panics, want [0 2] with 1", got, s.Panics())
	}
}

func TestSubscription_CancelFromItsOwnHandler(t *testing.T) {
	var bus event.Bus[int]
	var s *event.Subscription[int]
	ready := make(chan struct{})
	s = bus.Subscribe(0, func(int) { <-ready; s.Cancel() })
	close(ready)
	bus.Publish(1)
	<-s.Done()
	bus.Publish(2)
	s.Cancel()
	bus.Close()
}

func TestBus_ClosedBusTakesNoMore(t *testing.T) {
	var bus event.Bus[string]
	bus.Close()
	s := bus.Subscribe(0, func(string) { t.Error("delivered after Close") })
	bus.Publish("x")
	<-s.Done()
	bus.Close()
}

func TestBus_PublishSubscribeCloseConcurrently(t *testing.T) {
	var bus event.Bus[int]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				bus.Publish(i)
			}
		})
		wg.Go(func() {
			for range 20 {
				bus.Subscribe(1, func(int) {}).Cancel()
			}
		})
	}
	wg.Go(bus.Close)
	wg.Wait()
	bus.Close()
}

func BenchmarkPublish(b *testing.B) {
	var bus event.Bus[int]
	bus.Subscribe(0, func(int) {})
	for b.Loop() {
		bus.Publish(1)
	}
	bus.Close()
}
