package leaktest

import (
	"testing"

	"go.uber.org/goleak"
)

func TestFind_TellsWhatStays(t *testing.T) {
	before := goleak.IgnoreCurrent()
	None(t, before)
	end := make(chan struct{})
	go func() { <-end }()
	if find(0, before) == nil {
		t.Error("a goroutine that stays isn't found")
	}
	close(end)
	None(t, before)
}
