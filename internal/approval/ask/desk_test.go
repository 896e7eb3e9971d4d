package ask_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
)

func always(q channel.Question) func(int) (channel.Question, bool) {
	return func(int) (channel.Question, bool) { return q, true }
}

// BAT-11: the second question waits for the first, is told how many wait, and can be taken back while it waits.
func TestDesk_OneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d ask.Desk
		release := make(chan struct{})
		slow := channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
			<-release
			return channel.Answer{Choice: channel.Once}, nil
		})
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			_, _, err := d.Ask(t.Context(), slow, always(channel.Question{}))
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, asked, err := d.Ask(ctx, slow, func(int) (channel.Question, bool) {
				t.Error("the second question was made while the first was open")
				return channel.Question{}, true
			})
			if asked {
				t.Error("asked")
			}
			second <- err
		}()
		synctest.Wait()
		if n := d.Pending(); n != 2 {
			t.Errorf("%d questions are pending, of two", n)
		}
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("second: %v", err)
		}
		close(release)
		if err := <-first; err != nil {
			t.Errorf("first: %v", err)
		}
		if n := d.Pending(); n != 0 {
			t.Errorf("%d questions are pending after all were answered", n)
		}
	})
}

func TestDesk_ExpiryIsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d ask.Desk
		start := time.Now()
		_, asked, err := d.Ask(t.Context(), channel.AskerFunc(func(ctx context.Context, _ channel.Question) (channel.Answer, error) {
			<-ctx.Done()
			return channel.Answer{}, ctx.Err()
		}), always(channel.Question{Expires: start.Add(300 * time.Second)}))
		if !errors.Is(err, channel.ErrTimeout) || !asked || time.Since(start) != 300*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// A surface that ignores its context can't hold the gate for ever.
func TestDesk_LeavesADeafSurfaceBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d ask.Desk
		release := make(chan struct{})
		start := time.Now()
		_, _, err := d.Ask(t.Context(), channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
			<-release
			return channel.Answer{Choice: channel.Once}, nil
		}), always(channel.Question{Expires: start.Add(time.Second)}))
		if !errors.Is(err, channel.ErrTimeout) || time.Since(start) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, asked, err := d.Ask(t.Context(), nil, func(int) (channel.Question, bool) { return channel.Question{}, false }); asked || err != nil {
			t.Errorf("the next question: %v %v", asked, err)
		}
		close(release)
	})
}

func TestDesk_BrokenSurfaceIsUndeliverable(t *testing.T) {
	cause := errors.New("no route")
	for name, c := range map[string]struct {
		ask  channel.AskerFunc
		want error
	}{
		"error":     {func(context.Context, channel.Question) (channel.Answer, error) { return channel.Answer{}, cause }, ask.ErrUndeliverable},
		"its cause": {func(context.Context, channel.Question) (channel.Answer, error) { return channel.Answer{}, cause }, cause},
		"panic":     {func(context.Context, channel.Question) (channel.Answer, error) { panic("bug") }, ask.ErrUndeliverable},
		"interrupted": {func(context.Context, channel.Question) (channel.Answer, error) {
			return channel.Answer{}, channel.ErrInterrupted
		}, channel.ErrInterrupted},
	} {
		var d ask.Desk
		if _, _, err := d.Ask(t.Context(), c.ask, always(channel.Question{})); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
