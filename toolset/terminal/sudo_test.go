package terminal_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/toolset/terminal"
)

// sudoLab is a place whose sudo takes one password.
type sudoLab struct {
	password string // "" = sudo needs none
	mu       sync.Mutex
	probes   int
	verified int
	scripts  []string
	prints   string
}

func (l *sudoLab) run(ctx context.Context, c environment.Command) (environment.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := func(code int) (environment.Result, error) {
		return environment.Result{ExitCode: code, Reason: environment.Exited}, nil
	}
	switch strings.Join(c.Argv, " ") {
	case "sudo -n true":
		l.probes++
		if l.password == "" {
			return done(0)
		}
		return done(1)
	case "":
		l.scripts = append(l.scripts, c.Script)
		_, _ = c.Output.Write([]byte(l.prints))
	default:
		l.verified++
	}
	if l.password == "" {
		return done(0)
	}
	if c.SudoSecret == nil {
		return done(1)
	}
	for range 3 { // as sudo asks
		p, err := c.SudoSecret(ctx)
		if err != nil {
			return done(1)
		}
		if p == l.password {
			return done(0)
		}
	}
	return done(1)
}

func (l *sudoLab) host(services ...any) *host {
	h := told(l.run)
	h.services = append(services, &session.Sudo{})
	return h
}

// types is a person who types one secret after the other.
func types(secrets ...string) func(context.Context, channel.Question) (channel.Answer, error) {
	return func(context.Context, channel.Question) (channel.Answer, error) {
		s := secrets[0]
		secrets = secrets[1:]
		return channel.Answer{Secret: s}, nil
	}
}

func TestSudo_EachInCommandPositionGetsAskpass_SUD1(t *testing.T) {
	for in, want := range map[string]string{
		"sudo ls":                          "sudo -A ls",
		"sudo -u bob ls":                   "sudo -A -u bob ls",
		"A=1 sudo ls":                      "A=1 sudo -A ls",
		"/usr/bin/sudo ls":                 "/usr/bin/sudo -A ls",
		"echo x | sudo tee f":              "echo x | sudo -A tee f",
		"sudo a; sudo b && c | sudo d":     "sudo -A a; sudo -A b && c | sudo -A d",
		"for i in 1 2; do sudo x $i; done": "for i in 1 2; do sudo -A x $i; done",
		"timeout 5 sudo ls":                "timeout 5 sudo -A ls",
		"env A=1 sudo ls":                  "env A=1 sudo -A ls",
		"echo é; sudo ls":                  "echo é; sudo -A ls",
		"sudo -A ls":                       "sudo -A ls",
		"sudo -S ls":                       "sudo -S ls",
		"sudo -n ls; sudo b":               "sudo -n ls; sudo -A b",
		"sudo -En ls":                      "sudo -En ls",
		"sudo --non-interactive ls":        "sudo --non-interactive ls",
		"sudo -u -n ls":                    "sudo -A -u -n ls", // -n is the user here
		"sudo rm -n":                       "sudo -A rm -n",
		"echo sudo ls; sudo b":             "echo sudo ls; sudo -A b",
		"echo 'a; sudo ls'; sudo b":        "echo 'a; sudo ls'; sudo -A b",
		"cat <<E; sudo b\nsudo x\nE":       "cat <<E; sudo -A b\nsudo x\nE",
		"bash -c 'sudo ls'; sudo b":        "bash -c 'sudo ls'; sudo -A b",
		"S=sudo; $S ls; sudo b":            "S=sudo; $S ls; sudo -A b",
		"f() { sudo ls; }; f; f":           "f() { sudo -A ls; }; f; f",
		"x=$(sudo ls)":                     "x=$(sudo -A ls)",
	} {
		l := &sudoLab{password: "right"}
		h := l.host()
		h.env = map[string]string{"SUDO_PASSWORD": "right"}
		run(t, h, command(t, in))
		if len(l.scripts) != 1 || l.scripts[0] != want {
			t.Errorf("%q ran as %q, want %q", in, l.scripts, want)
		}
	}
}

func TestSudo_SourceOfThePassword_SUD3(t *testing.T) {
	t.Run("a setting comes before everything", func(t *testing.T) {
		l := &sudoLab{password: "right"}
		pw := "right"
		h := l.host(&terminal.Config{SudoPassword: &pw})
		if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 0 || l.probes != 0 || len(h.asked) != 0 {
			t.Errorf("%s after %d probes, %d questions", r.text, l.probes, len(h.asked))
		}
	})
	t.Run("an empty setting is tried and nobody is asked", func(t *testing.T) {
		l := &sudoLab{password: "right"}
		h := l.host(lookup{"SUDO_PASSWORD": ""})
		if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 1 || l.probes != 0 || len(h.asked) != 0 {
			t.Errorf("%s after %d probes, %d questions", r.text, l.probes, len(h.asked))
		}
	})
	t.Run("where none is needed nobody is asked, and the probe holds", func(t *testing.T) {
		l := &sudoLab{}
		h := l.host()
		for range 3 {
			run(t, h, command(t, "sudo ls"))
		}
		if l.probes != 1 || len(h.asked) != 0 || l.scripts[0] != "sudo ls" {
			t.Errorf("%d probes, %d questions, ran %q", l.probes, len(h.asked), l.scripts)
		}
	})
	t.Run("a person is asked once, for 45 s", func(t *testing.T) {
		l := &sudoLab{password: "right"}
		h := l.host()
		h.ask = types("right")
		for range 2 {
			if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 0 {
				t.Errorf("%s", r.text)
			}
		}
		if len(h.asked) != 1 {
			t.Fatalf("asked %d times", len(h.asked))
		}
		q := h.asked[0]
		if q.Kind != channel.KindSecret || q.Expires.Sub(q.Created) != 45*time.Second || strings.Contains(q.Title, "right") {
			t.Errorf("question %+v", q)
		}
	})
	t.Run("a mistyped one is asked for again", func(t *testing.T) {
		l := &sudoLab{password: "right"}
		h := l.host()
		h.ask = types("wrong", "right")
		if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 0 || len(h.asked) != 2 {
			t.Errorf("%s after %d questions", r.text, len(h.asked))
		}
	})
	t.Run("no answer means to go on without, and is remembered", func(t *testing.T) {
		l := &sudoLab{password: "right"}
		h := l.host()
		h.ask = types("")
		for range 2 {
			if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 1 || r.Note != "" {
				t.Errorf("%s", r.text)
			}
		}
		if len(h.asked) != 1 || l.scripts[0] != "sudo ls" {
			t.Errorf("asked %d times, ran %q", len(h.asked), l.scripts)
		}
	})
	t.Run("a password that is wrong by now is forgotten", func(t *testing.T) {
		l := &sudoLab{password: "right"}
		h := l.host()
		h.ask = types("right", "new")
		run(t, h, command(t, "sudo ls"))
		l.password = "new"
		if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 1 {
			t.Errorf("%s", r.text)
		}
		if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 0 || len(h.asked) != 2 {
			t.Errorf("%s after %d questions", r.text, len(h.asked))
		}
	})
	t.Run("the password stands in no result", func(t *testing.T) {
		l := &sudoLab{password: "right-password", prints: "it is right-password"}
		set := &secret.Set{}
		h := l.host(set, redact.New(set))
		h.ask = types("right-password")
		r := run(t, h, command(t, "sudo ls"))
		if strings.Contains(r.text, "right-password") || !strings.Contains(r.Output, "SUDO_PASSWORD") || strings.Contains(l.scripts[0], "right-password") {
			t.Errorf("%s, ran %q", r.text, l.scripts)
		}
	})
}

func TestSudo_NoteWhereNobodyCanAnswer_SUD4(t *testing.T) {
	l := &sudoLab{password: "right"}
	r := run(t, l.host(), command(t, "sudo ls"))
	if r.ExitCode != 1 {
		t.Errorf("%s", r.text)
	}
	mention(t, r.Note, "SUDO_PASSWORD", "terminal.sudo_password")
	if r := run(t, l.host(), command(t, "ls")); r.Note != "" {
		t.Errorf("a note without sudo: %s", r.text)
	}
}

func TestSudo_QuestionEndsWithTheCall_A60(t *testing.T) {
	l := &sudoLab{password: "right"}
	h := l.host()
	ctx, cancel := context.WithCancel(t.Context())
	h.ask = func(ctx context.Context, _ channel.Question) (channel.Answer, error) {
		cancel()
		<-ctx.Done()
		return channel.Answer{}, errors.Join(channel.ErrInterrupted, ctx.Err())
	}
	runCall(t, ctx, call(h, command(t, "sudo ls")))
	h.ask = types("right")
	if r := run(t, h, command(t, "sudo ls")); r.ExitCode != 0 {
		t.Errorf("an interrupted question counts as an answer: %s", r.text)
	}
}

// FuzzSudo holds that whatever a command is, it is refused or runs as it was written, but for -A.
func FuzzSudo(f *testing.F) {
	for _, s := range []string{"sudo ls", "a | sudo -u x b & wait", "cat <<E\nsudo x\nE\nsudo y", `x="$(sudo a)" 'sudo' b \sudo c`, "é;sudo\tx", "for((;;)){ sudo x;}", "sudo", "$(sudo", "nohup x", "tail -f x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("the door hands on valid text only")
		}
		l := &sudoLab{password: "right"}
		h := l.host()
		h.env = map[string]string{"SUDO_PASSWORD": "right"}
		r := run(t, h, command(t, text))
		if len(l.scripts) == 0 {
			if r.err() == "" {
				t.Errorf("%q neither ran nor was refused: %s", text, r.text)
			}
			return
		}
		without := func(s string) string { return strings.ReplaceAll(s, " -A", "") }
		if without(l.scripts[0]) != without(text) {
			t.Errorf("%q ran as %q", text, l.scripts[0])
		}
	})
}

type lookup map[string]string

func (l lookup) LookupEnv(name string) (string, bool) { v, ok := l[name]; return v, ok }
