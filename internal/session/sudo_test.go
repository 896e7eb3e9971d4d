package session_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/internal/session"
)

func TestSudo_AsksOncePerSession_A84(t *testing.T) {
	s := &session.Sudo{}
	asked := 0
	ask := func(context.Context) (string, bool, error) { asked++; return "pw", true, nil }
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if p, ok, err := s.Ask(t.Context(), "a", ask); p != "pw" || !ok || err != nil {
				t.Errorf("%q, %v, %v", p, ok, err)
			}
		})
	}
	wg.Wait()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if _, ok := s.Password("b"); ok {
		t.Error("another session knows the password")
	}
	s.Forget("a")
	if _, ok := s.Password("a"); ok {
		t.Error("a wrong password is remembered")
	}
	_, _, _ = s.Ask(t.Context(), "a", ask)
	if asked != 2 {
		t.Error("after a wrong password nobody is asked again")
	}
	s.End("a")
	if _, ok := s.Password("a"); ok {
		t.Error("the password outlives its session")
	}
}

func TestSudo_RefusalIsRememberedAFailureIsNot_A84(t *testing.T) {
	s := &session.Sudo{}
	asked := 0
	fail := errors.New("nobody")
	if _, _, err := s.Ask(t.Context(), "a", func(context.Context) (string, bool, error) { asked++; return "", false, fail }); !errors.Is(err, fail) {
		t.Error(err)
	}
	for range 2 {
		if _, ok, err := s.Ask(t.Context(), "a", func(context.Context) (string, bool, error) { asked++; return "", false, nil }); ok || err != nil {
			t.Error(ok, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

func TestSudo_WaitingForAnotherQuestionEndsWithTheCall_A60(t *testing.T) {
	s := &session.Sudo{}
	asking, answer, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = s.Ask(t.Context(), "a", func(context.Context) (string, bool, error) { close(asking); <-answer; return "", false, nil })
	}()
	<-asking
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Ask(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(answer)
	<-done
}

func TestSudo_ProbeHoldsOneMinute_SUD3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session.Sudo{}
		tried := 0
		try := func(context.Context) bool { tried++; return true }
		for range 3 {
			if !s.Free(t.Context(), "here", try) {
				t.Error("not free")
			}
		}
		s.Free(t.Context(), "there", try)
		if tried != 2 {
			t.Errorf("tried %d times, want once in each place", tried)
		}
		time.Sleep(time.Minute)
		s.Free(t.Context(), "here", try)
		if tried != 3 {
			t.Errorf("tried %d times after a minute", tried)
		}
	})
}
