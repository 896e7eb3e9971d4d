//go:build linux || darwin

package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
)

// keys are what a terminal of kind xterm sends.
var keys = map[string]string{
	"enter": "\r", "tab": "\t", "esc": "\x1b", "space": " ", "backspace": "\x7f", "delete": "\x1b[3~", "insert": "\x1b[2~",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"pgup": "\x1b[5~", "pgdn": "\x1b[6~", "shift-tab": "\x1b[Z",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~", "f7": "\x1b[18~",
	"f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
	"ctrl-@": "\x00", "ctrl-[": "\x1b", `ctrl-\`: "\x1c", "ctrl-]": "\x1d", "ctrl-^": "\x1e", "ctrl-_": "\x1f",
}

// applied are the keys that have another form once a program asks for it: CSI becomes SS3.
var applied = []string{"up", "down", "right", "left", "home", "end"}

// press gives the bytes of a key.
func press(name string, application bool) (string, bool) {
	low := strings.ToLower(name)
	if s, ok := keys[low]; ok {
		if application && slices.Contains(applied, low) {
			s = "\x1bO" + s[2:]
		}
		return s, true
	}
	if c, ok := strings.CutPrefix(low, "ctrl-"); ok && len(c) == 1 && c[0] >= 'a' && c[0] <= 'z' {
		return string(rune(c[0] & 0x1f)), true
	}
	if len(low) > 4 && low[:4] == "alt-" && utf8.RuneCountInString(name[4:]) == 1 {
		return "\x1b" + name[4:], true
	}
	return "", false
}

// keyNames lists what can be pressed.
func keyNames() string {
	var names []string
	for n := range keys {
		if !strings.HasPrefix(n, "f") && !strings.HasPrefix(n, "ctrl-") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ") + ` f1-f12 ctrl-a-ctrl-z ctrl-@ ctrl-[ ctrl-\ ctrl-] ctrl-^ ctrl-_ alt-<char>`
}

// ErrKey is the kind of an error for a key that there isn't.
var ErrKey = errors.New("no such key")

// Keys presses keys, all or none.
func (j *job) Keys(ctx context.Context, names []string) error {
	if j.rec.Terminal == nil {
		return fmt.Errorf("press keys: %w: the job has no terminal", environment.ErrUnsupported)
	}
	application := false
	if j.screen != nil {
		j.screen.mu.Lock()
		application = j.screen.cursors
		j.screen.mu.Unlock()
	}
	var b strings.Builder
	for _, n := range names {
		s, ok := press(n, application)
		if !ok {
			return fmt.Errorf("%w: %s; there are %s", ErrKey, strconv.Quote(n), keyNames())
		}
		b.WriteString(s)
	}
	n, err := j.Write(ctx, []byte(b.String()))
	if err == nil && n < b.Len() {
		err = fmt.Errorf("the terminal took %d of %d bytes: the program reads nothing", n, b.Len())
	}
	return err
}

// Resize changes terminal and screen together.
func (j *job) Resize(_ context.Context, z environment.Size) error {
	if j.rec.Terminal == nil {
		return fmt.Errorf("change the size: %w: the job has no terminal", environment.ErrUnsupported)
	}
	if err := checkSize(z); err != nil {
		return err
	}
	st, err := j.input()
	if err != nil {
		return err
	}
	j.screen.resize(z)
	return st.Resize(z)
}

// Screen tells what stands on the terminal.
func (j *job) Screen(context.Context) (environment.Screen, error) {
	if j.rec.Terminal == nil {
		return environment.Screen{}, fmt.Errorf("show the screen: %w: the job has no terminal", environment.ErrUnsupported)
	}
	if j.screen == nil {
		return environment.Screen{}, fmt.Errorf("show the screen: %w: it was lost with the process that kept the job", environment.ErrUnsupported)
	}
	return j.screen.show(), nil
}
