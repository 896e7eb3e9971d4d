// Package timetest holds what tests read to the processor time that its length gives.
package timetest

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bound is the processor time that a text may take, in proportion above 64 KiB (A91). It is that of a processor of today; a slower one, or
// one whose caches others use, has as many times more as it takes for a piece of work of the same kind.
const Bound = 50 * time.Millisecond

// Tries is how often what took too long is tried again: what else the machine does makes one try longer, none shorter.
const Tries = 40

// Most is the processor time that a text may take on this machine.
func Most(text string) time.Duration {
	return time.Duration(float64(Bound) * slower() * float64(max(len(text), 64<<10)) / (64 << 10))
}

// Took is the processor time of this thread that something takes.
func Took(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := spent()
	f()
	return spent() - start
}

// Least is the least time of several tries, fewer where one was short enough.
func Least(tries int, enough time.Duration, f func()) time.Duration {
	d := Took(f)
	for range tries - 1 {
		if d <= enough {
			break
		}
		d = min(d, Took(f))
	}
	return d
}

// usual is what the piece of work takes on a processor of today.
const usual = 8 * time.Millisecond

// slower is how many times longer this machine takes for the piece of work, at least 1.
var slower = sync.OnceValue(func() float64 { return max(1, float64(Least(10, usual, work))/float64(usual)) })

// work splits a text, counts its words in a map and joins them again.
func work() {
	text := strings.Repeat("rm -rf build/out; echo \"$x\" | sed -e s/a/b/\n", 1500)
	for round := range 16 {
		counts := map[string]int{}
		var joined strings.Builder
		for word := range strings.FieldsSeq(text) {
			counts[word+strconv.Itoa(len(counts)%64+round)]++
			joined.WriteString(word)
		}
		runtime.KeepAlive(counts)
	}
}
