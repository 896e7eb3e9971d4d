//go:build linux || darwin

package jobs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// need leaves a test out where a program is missing that it is about. Where CI=true all have to be there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatal(name + " isn't installed")
		}
		t.Skip(name + " isn't installed")
	}
}

// user is a person at the terminal of a program.
type user struct {
	t *testing.T
	p environment.Process
}

func sitDown(t *testing.T, command string) user {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	return user{t, start(t, openTable(t, jobs.Options{}), onTerminal(command, 24, 80))}
}

// sees waits until a text stands on the screen.
func (u user) sees(text string) {
	u.t.Helper()
	defer func() {
		if u.t.Failed() {
			u.t.Logf("the screen:\n%s", shows(u.t, u.p).Text)
		}
	}()
	until(u.t, "the screen shows "+text, func() bool { return strings.Contains(shows(u.t, u.p).Text, text) })
}

// isAsked waits until the program waits for what is typed, where that can be known.
func (u user) isAsked() {
	u.t.Helper()
	until(u.t, "it waits", func() bool { w := info(u.t, u.p).Waiting; return w == nil || *w })
}

func (u user) types(text string) {
	u.t.Helper()
	if n, err := u.p.Write(u.t.Context(), []byte(text)); err != nil || n != len(text) {
		u.t.Fatalf("%d bytes, %v", n, err)
	}
}

func (u user) presses(names ...string) {
	u.t.Helper()
	if err := u.p.Keys(u.t.Context(), names); err != nil {
		u.t.Fatal(err)
	}
}

// leaves waits for the end of the program, which is to be a good one.
func (u user) leaves() environment.JobInfo {
	u.t.Helper()
	i := ended(u.t, u.p)
	if code(i) != 0 {
		u.t.Errorf("%+v", i)
	}
	return i
}

// PTY-2, PTY-5, PTY-6: an editor that draws the whole screen.
func TestPrograms_Vim(t *testing.T) {
	need(t, "vim")
	file := filepath.Join(t.TempDir(), "text")
	u := sitDown(t, "vim -u NONE -N "+file)
	u.sees("~")
	u.types("ihello vim")
	u.sees("hello vim")
	u.presses("enter")
	u.types("second")
	u.presses("up", "home")
	u.types("> ")
	u.sees("> hello vim\nsecond")
	u.presses("esc")
	u.types(":wq")
	u.presses("enter")
	u.leaves()
	if b, err := os.ReadFile(file); err != nil || string(b) != "> hello vim\nsecond\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// PTY-2, PTY-3: a program that paints itself anew, also after a change of size.
func TestPrograms_Top(t *testing.T) {
	need(t, "top")
	u := sitDown(t, "top -d 1")
	u.sees("PID")
	if err := u.p.Resize(t.Context(), environment.Size{Rows: 12, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	u.sees("PID")
	u.types("q")
	u.leaves()
}

// PTY-5, PTY-6: an interpreter that is talked with line by line.
func TestPrograms_Python(t *testing.T) {
	need(t, "python3")
	u := sitDown(t, "PYTHON_BASIC_REPL=1 python3 -i")
	u.sees(">>>")
	u.isAsked()
	u.types("6*7")
	u.presses("enter")
	u.sees("\n42\n")
	u.isAsked()
	u.presses("ctrl-d")
	if i := u.leaves(); !strings.Contains(i.Preview, "42\n") {
		t.Errorf("%q", i.Preview)
	}
}

// PTY-4, PTY-6: a program that asks for a secret twice and echoes neither.
func TestPrograms_SSHKeygen(t *testing.T) {
	need(t, "ssh-keygen")
	key := filepath.Join(t.TempDir(), "key")
	u := sitDown(t, "ssh-keygen -q -t ed25519 -C a-comment -f "+key)
	for _, question := range []string{"Enter passphrase", "Enter same passphrase again"} {
		u.sees(question)
		u.isAsked()
		u.types("open sesame")
		u.presses("enter")
	}
	u.leaves()
	if text := shows(t, u.p).Text; strings.Contains(text, "sesame") {
		t.Errorf("the screen shows what was typed: %s", text)
	}
	if out, err := exec.Command("ssh-keygen", "-y", "-P", "open sesame", "-f", key).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ssh-ed25519 ") {
		t.Errorf("%s, %v", out, err)
	}
}

// A user for sudo: the name, and the password "sesame" as the system keeps it.
const (
	sudoUser   = "hermes-tester:x:54321:54321::/tmp:/bin/sh\n"
	sudoShadow = "hermes-tester:$6$hermes$cGpJexxL0k2/9VnjirMWbfdQ4UV640nA7eTwsesjFTUrsvj3hpl0ot8TRnSLAR/3nE6fE6d8z8sfrZOiM8T2L/:19000:0:99999:7:::\n"
	sudoRule   = "Defaults !lecture\nroot ALL=(ALL) ALL\nhermes-tester ALL=(ALL) ALL\n"
)

// PTY-4, PTY-6: sudo asks on the terminal, refuses a wrong password and takes the right one. The user is made up in a mount namespace of
// the job's own: nothing of this machine changes.
func TestPrograms_Sudo(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root on Linux can make up a user for it")
	}
	need(t, "sudo", "unshare", "setpriv")
	dir := t.TempDir()
	var mounts strings.Builder
	for name, add := range map[string]string{"/etc/passwd": sudoUser, "/etc/shadow": sudoShadow, "/etc/sudoers": ""} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text, mode := string(b)+add, os.FileMode(0o644)
		if add == "" {
			text, mode = sudoRule, 0o440
		}
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		mounts.WriteString("mount --bind " + file + " " + name + " && ")
	}
	u := sitDown(t, "exec unshare -m sh -c '"+mounts.String()+
		`exec setpriv --reuid=54321 --regid=54321 --clear-groups sudo -k -p "Password, please: " sh -c "echo I am \$(id -un)"'`)
	u.sees("Password, please:")
	u.isAsked()
	u.types("wrong")
	u.presses("enter")
	u.sees("try again.\nPassword, please:")
	u.isAsked()
	u.types("sesame")
	u.presses("enter")
	if i := u.leaves(); !strings.Contains(i.Preview, "I am root\n") || strings.Contains(i.Preview, "sesame") {
		t.Errorf("%q", i.Preview)
	}
}

// PTY-4: what a program asks the terminal about itself is answered, each question in its form.
func TestScreen_AnswersEachQuestion(t *testing.T) {
	table := openTable(t, jobs.Options{})
	for name, tc := range map[string]struct{ ask, want string }{
		"device attributes":           {`\033[c`, "033[?"},
		"secondary device attributes": {`\033[>c`, "033[>"},
		"status":                      {`\033[5n`, "033[0n"},
		"cursor":                      {`\033[3;7H\033[6n`, "033[3;7R"},
		"size in characters":          {`\033[18t`, "033[8;10;40t"},
		"foreground colour":           {`\033]10;?\007`, "033]10;rgb:"},
		"background colour":           {`\033]11;?\007`, "033]11;rgb:"},
		"colour of the cursor":        {`\033]12;?\007`, "033]12;rgb:"},
		"a colour of the palette":     {`\033]4;1;?\007`, "033]4;1;rgb:"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, table, onTerminal(`stty raw -echo min 0 time 50; printf '`+tc.ask+`'; dd bs=100 count=1 2>/dev/null | od -An -v -c -w100 | tr -d ' '`, 10, 40))
			if i := ended(t, p); !strings.HasPrefix(strings.TrimSpace(i.Preview), tc.want) {
				t.Errorf("%q", i.Preview)
			}
		})
	}
}
