package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
)

// sickly is a store that fails while it is told to.
type sickly struct {
	store.Store
	sick bool
}

func (s *sickly) Append(ctx context.Context, session string, m ...store.Message) ([]int64, error) {
	if s.sick {
		return nil, errors.New("no space")
	}
	return s.Store.Append(ctx, session, m...)
}

// STO-6: that a conversation can't be stored is told once each time that it begins to be so.
func TestTurn_TellsOnceThatNothingIsStored(t *testing.T) {
	s := set(t, Options{}, step{text: "1"}, step{text: "2"}, step{text: "3"}, step{text: "4"})
	kept := &sickly{Store: s.store}
	s.options.Store = kept
	for _, sick := range []bool{true, true, false, true} {
		kept.sick = sick
		if o := s.Turn(t.Context(), "go"); o.Status != Completed {
			t.Fatalf("%+v", o)
		}
	}
	told := 0
	for _, e := range s.told {
		if e.Type == EventNotice && strings.Contains(e.Text, "can't be stored") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("told %d times", told)
	}
}
