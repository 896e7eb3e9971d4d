//go:build unix

package staging

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

func area(t *testing.T, o Options) *Area {
	t.Helper()
	if o.Temp == "" {
		o.Temp = t.TempDir()
	}
	a := New(o)
	t.Cleanup(func() { a.Close() }) //nolint:errcheck // the directory is the test's
	return a
}

func make1(t *testing.T, a *Area) *Dir {
	t.Helper()
	d, err := a.Make()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// shortDir is a directory whose path leaves room for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(d) })
	return d
}

func TestDir_IsPrivateAndGoneAfterwards(t *testing.T) { // XS-1
	home := shortDir(t)
	a := area(t, Options{Home: home})
	d := make1(t, a)
	if err := d.Write("script.py", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for p, mode := range map[string]os.FileMode{d.Path: 0o700, d.Temp: 0o700, filepath.Join(d.Path, "script.py"): 0o600, filepath.Dir(d.Path): 0o700, filepath.Join(home, "run"): 0o700} {
		if i, err := os.Stat(p); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", p, i, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(d.Temp, "deep", "er"), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Join(d.Temp, "deep"), 0) //nolint:errcheck // as a script may leave it
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.Path); err == nil {
		t.Error("it is still there")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "run")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDir_LiesInTheRuntimeDirectoryElseBelowHome(t *testing.T) { // XS-2
	home, runtime := shortDir(t), shortDir(t)
	for want, o := range map[string]Options{
		filepath.Join(runtime, "hermes"): {Runtime: runtime, Home: home},
		filepath.Join(home, "run"):       {Runtime: filepath.Join(runtime, "absent"), Home: home},
	} {
		if d := make1(t, area(t, o)); !strings.HasPrefix(d.Path, want+"/") {
			t.Errorf("%s isn't in %s", d.Path, want)
		}
	}
}

func TestDir_SocketsFitWhateverThePath(t *testing.T) { // XS-2
	home := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	temp := shortDir(t)
	a := area(t, Options{Home: home, Temp: temp})
	for range 3 {
		d := make1(t, a)
		if len(d.Socket) >= 100 || len(d.Temp)+40 >= 104 || !strings.HasPrefix(d.Socket, temp) {
			t.Errorf("socket %s, temp %s", d.Socket, d.Temp)
		}
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDir_IsMadeWhateverTMPDIRAndHomeAre(t *testing.T) { // XS-2, XI-3
	nowhere := filepath.Join(shortDir(t), "file")
	if err := os.WriteFile(nowhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("l", 150))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"long TMPDIR":                {Home: filepath.Join(long, "home"), Temp: long},
		"TMPDIR that isn't there":    {Home: long, Temp: filepath.Join(nowhere, "tmp")},
		"home that can't be written": {Home: filepath.Join(nowhere, "home"), Temp: shortDir(t)},
		"neither":                    {Home: filepath.Join(nowhere, "home"), Temp: nowhere},
	} {
		a := area(t, o)
		d := make1(t, a)
		if len(d.Socket) >= 100 || len(d.Temp)+40 >= 104 {
			t.Errorf("%s: socket %s, temp %s", name, d.Socket, d.Temp)
		}
		dir, short := a.dir, a.short
		if err := a.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range []string{dir, short, d.Path} {
			if _, err := os.Stat(p); p != "" && err == nil {
				t.Errorf("%s: %s is left", name, p)
			}
		}
	}
}

func TestArea_SweepsWhatTheDeadLeftAndNothingElse(t *testing.T) { // XS-1
	home := filepath.Join(t.TempDir(), strings.Repeat("long/", 20))
	temp := shortDir(t)
	dead := New(Options{Home: home, Temp: temp})
	gone := make1(t, dead)
	living := area(t, Options{Home: home, Temp: temp})
	kept := make1(t, living)
	other := filepath.Join(home, "run", "12345")
	forged := filepath.Join(temp, "hx-of-somebody-else")
	for _, d := range []string{other, forged} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := dead.lock.Unlock(); err != nil { // as the end of its process does
		t.Fatal(err)
	}
	list := filepath.Join(dead.dir, elseName)
	b, _ := os.ReadFile(list)
	if err := os.WriteFile(list, append(b, []byte(forged+"\n/etc\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
	make1(t, area(t, Options{Home: home, Temp: temp}))
	for _, p := range []string{gone.Path, gone.short, dead.dir, dead.short} {
		if _, err := os.Stat(p); err == nil {
			t.Errorf("%s of a dead process is still there", p)
		}
	}
	for _, p := range []string{kept.Path, kept.short, other, forged, "/etc"} {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("%s is gone", p)
		}
	}
}

func TestArea_GoesOnWhenItsDirectoryWasRemoved(t *testing.T) {
	home := shortDir(t)
	a := area(t, Options{Home: home})
	d := make1(t, a)
	if err := os.RemoveAll(filepath.Join(home, "run")); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	make1(t, a)
}

func TestForward_AnswersItsUserAndGoesWithItsFiles(t *testing.T) { // XR-1, XS-1
	a := area(t, Options{Home: shortDir(t)})
	f, err := a.Forward(map[string][]byte{"script.py": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	for p, mode := range map[environment.Path]os.FileMode{f.Socket(): 0o600, f.Dir(): 0o700, f.Temp(): 0o700, f.Dir() + "/script.py": 0o600} {
		if i, err := os.Stat(string(p)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", p, i, err)
		}
	}
	there, err := net.Dial("unix", string(f.Socket()))
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here, err := f.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(here, b); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if err := errors.Join(here.Close(), f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := f.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end Accept gives %v", err)
	}
	if _, err := os.Stat(string(f.Dir())); err == nil {
		t.Error("the directory is still there")
	}
}

// failing is a listener whose first Accept fails.
type failing struct {
	listener
	failed bool
}

func (l *failing) AcceptUnix() (*net.UnixConn, error) {
	if !l.failed {
		l.failed = true
		return nil, syscall.EMFILE
	}
	return l.listener.AcceptUnix()
}

func TestForward_GoesOnAfterAFailureThatPasses(t *testing.T) { // XR-1
	f, err := area(t, Options{Home: shortDir(t)}).Forward(nil)
	if err != nil {
		t.Fatal(err)
	}
	fails := &failing{listener: f.ln}
	f.ln = fails
	there, err := net.Dial("unix", string(f.Socket()))
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here, err := f.Accept()
	if err != nil || !fails.failed {
		t.Fatal(err)
	}
	if err := errors.Join(here.Close(), f.Close()); err != nil {
		t.Error(err)
	}
}

func TestPrivate_TakesNothingThatOthersMayHaveMade(t *testing.T) { // XS-1
	top := t.TempDir()
	dir := func(name string, mode os.FileMode) string {
		d := filepath.Join(top, name)
		if err := errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, mode)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, d := range []string{filepath.Join(top, "new"), dir("ours", 0o700), dir("read by others", 0o755)} {
		if err := Private(d); err != nil {
			t.Error(err)
		}
		if i, err := os.Stat(d); err != nil || i.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, i, err)
		}
	}
	link, file, foreign := filepath.Join(top, "link"), filepath.Join(top, "file"), "/usr"
	if err := errors.Join(os.Symlink(dir("behind it", 0o700), link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		foreign = dir("foreign", 0o700)
		if err := os.Chown(foreign, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{link, file, foreign, dir("written by others", 0o777), dir("written by a group", 0o770)} {
		if err := Private(d); err == nil {
			t.Errorf("%s is taken", d)
		}
	}
}
