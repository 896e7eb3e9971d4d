//go:build linux || darwin

package jobs

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
)

// The sizes that a terminal may have.
const (
	minRows, maxRows = 2, 500
	minCols, maxCols = 10, 1000
)

func checkSize(z environment.Size) error {
	if z.Rows < minRows || z.Rows > maxRows || z.Cols < minCols || z.Cols > maxCols {
		return fmt.Errorf("%d rows and %d columns are no size of a terminal: %d to %d rows, %d to %d columns", z.Rows, z.Cols, minRows, maxRows, minCols, maxCols)
	}
	return nil
}

// scrolledRows is how many rows that left the screen are remembered until the line that they belong to is finished.
const scrolledRows = 200

// screen is what stands on a terminal. It is written what the program prints, and writes each line as it is finished.
type screen struct {
	j     *job
	lines io.Writer
	done  chan struct{} // of the answers; nil before open

	mu      sync.Mutex
	em      *vt.Emulator // nil once closed
	last    environment.Screen
	z       environment.Size
	title   string
	cursors bool // cursor keys are wanted in their application form
	hidden  bool
	first   int  // row where the line begins that isn't finished
	cleared bool // what was scrolled off since was erased
}

func newScreen(j *job, z environment.Size, lines io.Writer) *screen {
	s := &screen{j: j, lines: lines, z: z, em: vt.NewEmulator(z.Cols, z.Rows)}
	bound(s.em)
	s.em.SetScrollbackSize(scrolledRows)
	s.em.SetCallbacks(vt.Callbacks{
		Title:            func(t string) { s.title = printable(t) },
		CursorVisibility: func(shown bool) { s.hidden = !shown },
	})
	onCSI(s.em.RegisterCsiHandler, 'J', func(n int) bool {
		if n >= 2 {
			s.cleared, s.first = true, 0
		}
		return false
	})
	onCSI(s.em.RegisterCsiHandler, '?'<<8|'h', func(n int) bool { s.cursors = s.cursors || n == 1; return false })
	onCSI(s.em.RegisterCsiHandler, '?'<<8|'l', func(n int) bool { s.cursors = s.cursors && n != 1; return false })
	s.answerQuestions()
	return s
}

// onCSI has do told each parameter of a control sequence before the emulator acts on it, which it doesn't once do is true.
func onCSI[H ~func(P) bool, P any](register func(int, H), command int, do func(int) bool) {
	register(command, func(p P) bool {
		list, ok := any(p).(interface {
			Param(i, other int) (int, bool, bool)
		})
		for i := 0; ok && i < 32; i++ {
			n, _, is := list.Param(i, 0)
			if !is && i > 0 {
				break
			}
			if do(n) {
				return true
			}
		}
		return false
	})
}

func printable(t string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, t)
}

// open begins to answer what the program asks the terminal. The emulator waits until an answer was taken, so nothing here may wait for
// the program.
func (s *screen) open() {
	s.done = make(chan struct{})
	em := s.em
	go func() {
		defer close(s.done)
		b := make([]byte, 256)
		for {
			n, err := em.Read(b)
			if err != nil {
				return
			}
			s.answer(b[:n])
		}
	}()
}

// answer types into the terminal without waiting. A program that doesn't read its answers loses them.
func (s *screen) answer(b []byte) {
	st := s.j.handle()
	if st == nil {
		return
	}
	raw, err := st.Terminal().SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.Write(int(fd), b) }) //nolint:gosec // a descriptor
}

// Write shows what the program prints. It never fails.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.em == nil {
		return len(b), nil
	}
	for from := 0; from < len(b); {
		to := from
		for to < len(b) && b[to] != '\n' {
			to++
		}
		_, _ = s.em.Write(b[from:to]) // fails only when closed
		if to < len(b) {
			s.finished()
			_, _ = s.em.Write(b[to : to+1])
			to++
		}
		from = to
	}
	return len(b), nil
}

// finished writes the line that the cursor is about to leave. The caller holds mu.
func (s *screen) finished() {
	if s.em.IsAltScreen() {
		return // a picture, no lines
	}
	text, ok := s.line()
	if ok {
		_, _ = io.WriteString(s.lines, text+"\n")
		s.first = s.em.CursorPosition().Y + 1
	}
	s.em.ClearScrollback()
}

// line gives the rows from where the unfinished line begins to the cursor. A row that is full goes on in the next. Where the cursor
// stands higher, something is painted over that was a line before.
func (s *screen) line() (string, bool) {
	gone := s.em.ScrollbackLen()
	if s.cleared {
		s.cleared, gone = false, 0
	}
	s.first -= gone
	at := s.em.CursorPosition().Y
	if at < s.first {
		return "", false
	}
	var b strings.Builder
	put := func(text string, full, last bool) {
		if !full {
			text = strings.TrimRight(text, " ")
		}
		if b.WriteString(text); !full && !last {
			b.WriteByte('\n')
		}
	}
	for i := max(0, gone+min(s.first, 0)); i < gone; i++ {
		text, full := s.row(func(x int) cell { return s.scrolled(x, i) })
		put(text, full, false)
	}
	for y := max(0, s.first); y <= at; y++ {
		text, full := s.row(func(x int) cell { return s.cell(x, y) })
		put(text, full && y < at, y == at)
	}
	s.first = max(0, s.first)
	return b.String(), true
}

// row gives a row's text, and whether it is written to its end.
func (s *screen) row(at func(x int) cell) (string, bool) {
	var b strings.Builder
	full := false
	for x := range s.em.Width() {
		c := at(x)
		switch {
		case c.width == 0 && c.text == "" && x > 0: // the second half of a wide character
			continue
		case c.text == "":
			c.text = " "
		}
		b.WriteString(c.text)
		full = c.text != " "
	}
	return b.String(), full
}

type cell struct {
	text  string
	width int
}

var blank = cell{" ", 1}

func (s *screen) cell(x, y int) cell {
	if c := s.em.CellAt(x, y); c != nil {
		return cell{c.Content, c.Width}
	}
	return blank
}

func (s *screen) scrolled(x, i int) cell {
	if c := s.em.ScrollbackCellAt(x, i); c != nil {
		return cell{c.Content, c.Width}
	}
	return blank
}

// show gives the screen as a person would see it.
func (s *screen) show() environment.Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.em == nil {
		return s.last
	}
	return s.shown()
}

func (s *screen) shown() environment.Screen {
	rows := make([]string, s.em.Height())
	for y := range rows {
		text, _ := s.row(func(x int) cell { return s.cell(x, y) })
		rows[y] = strings.TrimRight(text, " ")
	}
	at := s.em.CursorPosition()
	return environment.Screen{
		Text: strings.TrimRight(strings.Join(rows, "\n"), "\n"), Row: at.Y, Col: at.X, Size: s.z, Title: s.title, Hidden: s.hidden,
	}
}

func (s *screen) size() environment.Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.z
}

func (s *screen) resize(z environment.Size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.em != nil {
		s.em.Resize(z.Cols, z.Rows)
		s.first = min(s.first, z.Rows-1)
	}
	s.z = z
}

// Close writes the line that wasn't finished. The last picture stays.
func (s *screen) Close() error {
	s.mu.Lock()
	em := s.em
	if em != nil {
		if !em.IsAltScreen() {
			if text, ok := s.line(); ok {
				_, _ = io.WriteString(s.lines, strings.TrimRight(text, " "))
			}
		}
		s.last, s.em = s.shown(), nil
		if answers, ok := em.InputPipe().(io.Closer); ok { // not the emulator: it isn't made to be closed while it is read
			_ = answers.Close()
		}
	}
	s.mu.Unlock()
	if em != nil && s.done != nil {
		<-s.done
	}
	return nil
}
