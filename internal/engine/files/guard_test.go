package files_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

func TestGuard_SeesEveryOperationWithIdentity(t *testing.T) { // GRD-1, GRD-7
	p := newPlace(t)
	ctx := context.Background()
	secret := p.put("dir/secret", "s")
	p.put("plain", "p")
	if err := os.Link(string(secret), string(p.path("hard"))); err != nil {
		t.Skip(err)
	}
	for name, target := range map[string]string{"soft": "dir/secret", "chain": "soft", "dirlink": "dir"} {
		if err := os.Symlink(target, string(p.path(name))); err != nil {
			t.Skip(err)
		}
	}
	id, err := p.Stat(ctx, secret)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("that one is secret")
	g := p.Guarded(func(at environment.Path, i *environment.FileInfo, op environment.Operation) error {
		if at == secret || i != nil && i.Same(id) {
			return refused
		}
		return nil
	})
	root := string(p.path(""))
	for _, name := range []string{"dir/secret", "hard", "soft", "chain", "dirlink/secret", "dir/../dir//./secret", "dirlink/../hard"} {
		at := environment.Path(root + "/" + name)
		if _, err := g.Read(ctx, at, 0, -1); !errors.Is(err, environment.ErrGuarded) || !errors.Is(err, refused) {
			t.Errorf("read %s: %v", name, err)
		}
		if _, err := g.Replace(ctx, at, strings.NewReader("x"), environment.ReplaceOptions{}); !errors.Is(err, environment.ErrGuarded) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	for _, name := range []string{"dir/secret", "hard", "dirlink/secret"} {
		at := environment.Path(root + "/" + name)
		for op, err := range map[string]error{
			"remove": g.Remove(ctx, at), "rename": g.Rename(ctx, at, p.path("x")), "rename to": g.Rename(ctx, p.path("plain"), at),
		} {
			if !errors.Is(err, environment.ErrGuarded) {
				t.Errorf("%s %s: %v", op, name, err)
			}
		}
	}
	p.holds("dir/secret", "s")
	p.holds("plain", "p")
	if _, err := g.Read(ctx, p.path("plain"), 0, -1); err != nil {
		t.Errorf("another file: %v", err)
	}
}

func TestGuard_ARefusedCallHasChangedNothing(t *testing.T) { // GRD-7
	p := newPlace(t)
	ctx := context.Background()
	g := p.Guarded(func(environment.Path, *environment.FileInfo, environment.Operation) error { return errors.New("no") })
	_, err := g.Replace(ctx, p.path("a/b/c"), strings.NewReader("x"), environment.ReplaceOptions{Parents: true})
	if !errors.Is(err, environment.ErrGuarded) {
		t.Error(err)
	}
	if err := g.MkdirAll(ctx, p.path("d/e"), 0); !errors.Is(err, environment.ErrGuarded) {
		t.Error(err)
	}
	if _, err := g.ReadDir(ctx, p.path(".")); !errors.Is(err, environment.ErrGuarded) {
		t.Error(err)
	}
	left, err := os.ReadDir(string(p.path("")))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestGuard_GuardsAddUp(t *testing.T) {
	p := newPlace(t)
	at := p.put("f", "x")
	var asked []string
	ask := func(name string) environment.Guard {
		return func(environment.Path, *environment.FileInfo, environment.Operation) error {
			asked = append(asked, name)
			return nil
		}
	}
	g := p.Guarded(ask("first")).(environment.Guarder).Guarded(ask("second"))
	r, err := g.Read(context.Background(), at, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if strings.Join(asked, " ") != "first second" {
		t.Errorf("asked %v", asked)
	}
}

func TestGuard_ASwapBetweenCheckAndUseIsRefused(t *testing.T) { // GRD-2
	p := newPlace(t)
	ctx := context.Background()
	at := p.put("dir/f", "judged")
	p.put("other/f", "secret")
	swap := func() {
		for _, step := range [][2]string{{"dir", "gone"}, {"other", "dir"}} {
			if err := os.Rename(string(p.path(step[0])), string(p.path(step[1]))); err != nil {
				t.Error(err)
			}
		}
	}
	g := p.Guarded(func(environment.Path, *environment.FileInfo, environment.Operation) error { swap(); return nil })
	r, err := g.Read(ctx, at, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	buf := make([]byte, 10)
	n, _ := r.Read(buf)
	if string(buf[:n]) != "judged" { // the directory is held: another under its name changes nothing
		t.Errorf("read %q", buf[:n])
	}
	file := p.put("swapped", "judged")
	g = p.Guarded(func(environment.Path, *environment.FileInfo, environment.Operation) error {
		return os.Rename(string(p.put("evil", "secret")), string(file))
	})
	if _, err := g.Read(ctx, file, 0, -1); !errors.Is(err, environment.ErrChanged) {
		t.Errorf("a swapped file: %v", err)
	}
	link := p.put("linked", "judged")
	g = p.Guarded(func(environment.Path, *environment.FileInfo, environment.Operation) error {
		os.Remove(string(link))
		return os.Symlink(string(file), string(link))
	})
	if _, err := g.Read(ctx, link, 0, -1); err == nil {
		t.Error("a link that was swapped in was followed")
	}
}

func TestWriteRoot_NothingOutsideIsWritten(t *testing.T) { // GRD-3
	p := newPlace(t)
	ctx := context.Background()
	o := p.options()
	o.WriteRoot = "~/safe"
	safe := filepath.Join(o.Home, "safe")
	if err := os.Mkdir(safe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(string(p.path("")), filepath.Join(safe, "out")); err != nil {
		t.Skip(err)
	}
	f := files.New(o)
	write := func(at string) error {
		_, err := f.Replace(ctx, environment.Path(at), strings.NewReader("x"), environment.ReplaceOptions{Parents: true})
		return err
	}
	for _, inside := range []string{"/f", "/a/b", "/a/../c"} {
		if err := write(safe + inside); err != nil {
			t.Errorf("inside: %v", err)
		}
	}
	if err := f.MkdirAll(ctx, environment.Path(safe), 0); err != nil {
		t.Errorf("the root itself: %v", err)
	}
	outside := map[string]error{
		"beside": write(safe + "2/f"), "above": write(safe + "/../f"), "by a link": write(safe + "/out/f"), "far": write(string(p.path("f"))),
		"renamed out": f.Rename(ctx, environment.Path(safe+"/f"), p.path("f")), "made": f.MkdirAll(ctx, p.path("d"), 0),
		"removed": f.Remove(ctx, p.put("keep", "x")),
	}
	for what, err := range outside {
		if !errors.Is(err, environment.ErrGuarded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.holds("keep", "x")
	if _, err := os.Stat(safe + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was made: %v", err)
	}
	if _, err := f.Read(ctx, p.path("keep"), 0, -1); err != nil {
		t.Errorf("reading outside: %v", err)
	}
}
