//go:build linux || darwin

package jobs_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

func onTerminal(text string, rows, cols int) environment.Job {
	j := script(text)
	j.Terminal = &environment.Size{Rows: rows, Cols: cols}
	return j
}

func shows(t *testing.T, p environment.Process) environment.Screen {
	t.Helper()
	s, err := p.Screen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// PTY-2: the screen is what a person would see.
func TestScreen_WhatAPersonSees(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, onTerminal(`printf '\033]0;the \001title\007\033[2J\033[Hone   \r\ntwo\033[3;5Hthree\033[1;2HN\033[5;1H\xe6\xbc\xa2x\033[?25l'; read x`, 10, 40))
	until(t, "it stands there", func() bool { return shows(t, p).Hidden }) // what is printed last
	s := shows(t, p)
	if s.Text != "oNe\ntwo\n    three\n\n漢x" || s.Row != 4 || s.Col != 3 || s.Title != "the title" || !s.Hidden || s.Size.Cols != 40 {
		t.Errorf("%+v", s)
	}
	if _, err := p.Kill(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	if after := shows(t, p); after.Text != s.Text {
		t.Errorf("after the end: %+v", after)
	}
}

// PTY-4: what a program asks its terminal is answered; one that asks and never reads holds nobody up.
func TestScreen_Answers(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, onTerminal(`stty raw -echo; printf '\033[6n'; dd bs=1 count=6 2>/dev/null | od -c; stty sane; env | grep -E "^(LINES|COLUMNS)="; echo $TERM.`, 10, 40))
	if i := ended(t, p); !strings.Contains(i.Preview, "033   [   1   ;   1   R") || !strings.Contains(i.Preview, "xterm-256color.") {
		t.Errorf("%q", i.Preview)
	}
	p = start(t, table, onTerminal(`stty raw -echo; for i in $(seq 3000); do printf '\033[6n\033[c'; done; echo done; sleep 60`, 10, 40))
	until(t, "it asked all", func() bool { return strings.Contains(shows(t, p).Text, "done") })
}

// PTY-7: the log holds lines as they were finished, not each repainting, and a line that wraps is one.
func TestScreen_LogHoldsLines(t *testing.T) {
	table := openTable(t, jobs.Options{})
	long := strings.Repeat("abcdefghij", 13)
	p := start(t, table, onTerminal(`for i in 1 2 3; do printf '\rprogress %d%%' $i; done; echo; echo `+long+`; printf '\033[?1049hpicture\nmore\n\033[?1049l'; seq 1 40; printf '\033[31mlast'`, 10, 40))
	i := ended(t, p)
	want := "progress 3%\n" + long + "\n"
	for n := range 40 {
		want += itoa(n+1) + "\n"
	}
	if l := page(t, p, 0, 100); l.Text != want+"last" || i.Lines != 43 {
		t.Errorf("%d lines: %q", i.Lines, l.Text)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// PTY-3: kernel and screen change their size together, and the program is told.
func TestResize_ProgramIsTold(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, onTerminal(`trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done`, 24, 80))
	until(t, "it has a size", func() bool { return strings.Contains(info(t, p).Preview, "24 80") })
	if err := p.Resize(t.Context(), environment.Size{Rows: 40, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	until(t, "it is told", func() bool { return strings.Contains(info(t, p).Preview, "40 132") })
	if s := shows(t, p); s.Size.Rows != 40 || info(t, p).Terminal.Cols != 132 {
		t.Errorf("%+v", s.Size)
	}
	for _, bad := range []environment.Size{{Rows: 1, Cols: 80}, {Rows: 24, Cols: 9}, {Rows: 501, Cols: 80}, {Rows: 24, Cols: 1001}} {
		if err := p.Resize(t.Context(), bad); err == nil {
			t.Errorf("%v is a size", bad)
		}
		if _, err := table.Start(t.Context(), jobs.Spec{Job: onTerminal("true", bad.Rows, bad.Cols), Base: base(t)}); !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// PTY-5: keys in the form that the program asked for; an unknown one sends nothing.
func TestKeys_InTheFormAskedFor(t *testing.T) {
	table := openTable(t, jobs.Options{})
	for _, c := range []struct{ mode, want string }{{"", "033   [   A 033   O   P 001 033   x  \\t 177"}, {`\033[?1h`, "033   O   A 033   O   P 001 033   x  \\t 177"}} {
		p := start(t, table, onTerminal(`stty raw -echo; printf '`+c.mode+`ready'; dd bs=1 count=11 2>/dev/null | od -An -c`, 24, 80))
		until(t, "it is ready", func() bool { return strings.Contains(shows(t, p).Text, "ready") })
		err := p.Keys(t.Context(), []string{"up", "hyper"})
		if !errors.Is(err, jobs.ErrKey) || !strings.Contains(err.Error(), "pgdn") {
			t.Errorf("an unknown key: %v", err)
		}
		if err := p.Keys(t.Context(), []string{"up", "f1", "ctrl-a", "alt-x", "tab", "backspace"}); err != nil {
			t.Fatal(err)
		}
		if i := ended(t, p); !strings.Contains(i.Preview, c.want) {
			t.Errorf("%q: %q", c.mode, i.Preview)
		}
	}
}

// PTY-6: a program that sleeps until something is typed is told from one that works or waits for something else.
func TestInfo_WaitingForInput(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it can't be known here")
	}
	table := openTable(t, jobs.Options{})
	waits := func(p environment.Process, want bool) {
		t.Helper()
		until(t, "waiting is "+map[bool]string{true: "true", false: "false"}[want], func() bool {
			w := info(t, p).Waiting
			return w != nil && *w == want
		})
	}
	p := start(t, table, onTerminal("read x; sleep 60", 24, 80))
	waits(p, true)
	if err := p.Keys(t.Context(), []string{"enter"}); err != nil {
		t.Fatal(err)
	}
	waits(p, false)
	waits(start(t, table, onTerminal("bash --norc -i", 24, 80)), true)
	if i := info(t, start(t, table, script("sleep 60"))); i.Waiting != nil {
		t.Errorf("without a terminal: %v", *i.Waiting)
	}
}

// The emulator keeps nothing that nobody can see: rows that left the alternate screen, room for control strings.
func TestScreen_MemoryIsBounded(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, onTerminal(`printf '\033[?1049h'; seq 1 20000; echo over; sleep 60`, 24, 80))
	until(t, "it is through", func() bool { return strings.Contains(shows(t, p).Text, "over") })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := p.Kill(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if freed := int64(before.HeapAlloc) - int64(after.HeapAlloc); freed > 4<<20 {
		t.Errorf("the screen held %d bytes", freed)
	}
}
