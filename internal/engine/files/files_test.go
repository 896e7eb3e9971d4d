package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

// place is a directory with a file system over it.
type place struct {
	*files.FS
	t    *testing.T
	root string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"w", "tmp", "home"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{t: t, root: root}
	p.FS = files.New(p.options())
	return p
}

func (p *place) options() files.Options {
	return files.Options{
		Home: filepath.Join(p.root, "home"), Temp: filepath.Join(p.root, "tmp"), LockDir: filepath.Join(p.root, "locks"),
	}
}

func (p *place) path(name string) environment.Path {
	return environment.Path(filepath.Join(p.root, "w", name))
}

func (p *place) put(name, content string) environment.Path {
	p.t.Helper()
	file := string(p.path(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return environment.Path(file)
}

func (p *place) holds(name, want string) {
	p.t.Helper()
	got, err := os.ReadFile(string(p.path(name)))
	if err != nil || string(got) != want {
		p.t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

// clean asserts that no file in the making is left anywhere.
func (p *place) clean() {
	p.t.Helper()
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && files.IsTemp(d.Name()) {
			p.t.Errorf("%s was left behind", path)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) replace(at environment.Path, content string, o environment.ReplaceOptions) (environment.FileInfo, error) {
	return p.Replace(context.Background(), at, strings.NewReader(content), o)
}

func TestResolve_MeansWhatTheKernelWouldMean(t *testing.T) { // FIL-4
	p := newPlace(t)
	p.put("dir/sub/file", "x")
	w := filepath.Join(p.root, "w")
	home := filepath.Join(p.root, "home")
	links := map[string]string{
		"link": "dir/sub", "dangling": "dir/new", "abs": filepath.Join(w, "dir"), "chain": "link", "loop": "loop2", "loop2": "loop",
		"deep": "abs/sub/../sub/file",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(w, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct{ name, want string }{
		{"dir/sub/file", w + "/dir/sub/file"},
		{"./dir//sub/./file", w + "/dir/sub/file"},
		{"dir/../dir/sub", w + "/dir/sub"},
		{"link/file", w + "/dir/sub/file"},
		{"link/../x", w + "/dir/x"}, // behind a link, .. is the target's parent
		{"chain/file", w + "/dir/sub/file"},
		{"deep", w + "/dir/sub/file"},
		{"dangling", w + "/dir/new"},
		{"none/../dir", w + "/dir"},
		{"none/a/b", w + "/none/a/b"},
		{"dir/sub/file/below", w + "/dir/sub/file/below"},
		{"~", home},
		{"~/a", home + "/a"},
		{"~no-such-user-here/a", w + "/~no-such-user-here/a"},
		{"./~", w + "/~"},
		{"a~b", w + "/a~b"},
		{"$HOME/*;'\"\n", w + "/$HOME/*;'\"\n"},
		{"/", "/"},
		{"/..", "/"},
		{"../../../../../../../../../../..", "/"},
		{"//" + strings.TrimPrefix(w, "/") + "//dir", w + "/dir"},
		{"..", p.root},
		{"dir/sub/", w + "/dir/sub"},
		{"\xff\xfe", w + "/\xff\xfe"},
	} {
		got, err := p.Resolve(context.Background(), c.name, environment.Path(w))
		if err != nil || string(got) != c.want {
			t.Errorf("%q resolves to %q (%v), want %q", c.name, got, err, c.want)
		}
	}
	if _, err := p.Resolve(context.Background(), "loop/x", environment.Path(w)); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a loop gives %v", err)
	}
	if got, err := p.Resolve(context.Background(), "x", ""); err != nil || string(got) != home+"/x" {
		t.Errorf("without a directory: %q, %v", got, err)
	}
}

func TestResolve_ExpandsAnotherUsersHome(t *testing.T) { // FIL-4
	p := newPlace(t)
	got, err := p.Resolve(context.Background(), "~root/x", "/")
	if err != nil {
		t.Fatal(err)
	}
	if got != "/root/x" && got != "/var/root/x" && got != "/private/var/root/x" {
		t.Skipf("root's home is %s here", got)
	}
}

func TestPaths_EmptyNULAndRelativeAreRefused(t *testing.T) { // FIL-8
	p := newPlace(t)
	ctx := context.Background()
	for _, bad := range []environment.Path{"", "/a\x00b", "relative"} {
		_, readErr := p.Read(ctx, bad, 0, -1)
		_, statErr := p.Stat(ctx, bad)
		_, writeErr := p.replace(bad, "", environment.ReplaceOptions{})
		_, listErr := p.ReadDir(ctx, bad)
		for op, err := range map[string]error{
			"read": readErr, "stat": statErr, "write": writeErr, "list": listErr, "remove": p.Remove(ctx, bad),
			"rename": p.Rename(ctx, bad, "/x"), "mkdir": p.MkdirAll(ctx, bad, 0),
		} {
			if err == nil || !strings.Contains(err.Error(), "path") {
				t.Errorf("%s of %q: %v", op, bad, err)
			}
		}
	}
	for _, bad := range []string{"", "a\x00b"} {
		if _, err := p.Resolve(ctx, bad, "/"); err == nil {
			t.Errorf("%q was resolved", bad)
		}
	}
}

func TestRead_GivesTheBytesAskedFor(t *testing.T) {
	p := newPlace(t)
	at := p.put("f", "0123456789")
	for _, c := range []struct {
		off, n int64
		want   string
	}{{0, -1, "0123456789"}, {3, -1, "3456789"}, {3, 4, "3456"}, {8, 100, "89"}, {10, 5, ""}, {99, -1, ""}, {0, 0, ""}} {
		r, err := p.Read(context.Background(), at, c.off, c.n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != c.want {
			t.Errorf("%d bytes from %d are %q (%v), want %q", c.n, c.off, got, err, c.want)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Read(context.Background(), at, -1, 1); err == nil {
		t.Error("a negative offset was accepted")
	}
}

func TestRead_EndsWithItsContext(t *testing.T) {
	p := newPlace(t)
	at := p.put("f", "text")
	ctx, cancel := context.WithCancel(context.Background())
	r, err := p.Read(ctx, at, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on gives %v", err)
	}
}

func TestErrors_NamePathAndKind(t *testing.T) { // FIL-5
	p := newPlace(t)
	p.put("file", "x")
	if err := os.Mkdir(string(p.path("dir")), 0o755); err != nil {
		t.Fatal(err)
	}
	read := func(name string) error { _, err := p.Read(context.Background(), p.path(name), 0, -1); return err }
	write := func(name string) error {
		_, err := p.replace(p.path(name), "", environment.ReplaceOptions{})
		return err
	}
	long := strings.Repeat("n", 300)
	for _, c := range []struct {
		what string
		err  error
		is   error
		path string
	}{
		{"read nothing", read("none"), fs.ErrNotExist, "none"},
		{"read a directory", read("dir"), syscall.EISDIR, "dir"},
		{"read below a file", read("file/x"), syscall.ENOTDIR, "file/x"},
		{"read a long name", read(long), syscall.ENAMETOOLONG, long},
		{"write a directory", write("dir"), syscall.EISDIR, "dir"},
		{"write below a file", write("file/x"), syscall.ENOTDIR, "file/x"},
		{"write below nothing", write("none/x"), fs.ErrNotExist, "none/x"},
		{"write a long name", write(long), syscall.ENAMETOOLONG, long},
		{"show a strange name", read("a\nb"), fs.ErrNotExist, `a\nb`},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.path) {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	p.clean()
}

func TestReadDir_ListsInOrder(t *testing.T) {
	p := newPlace(t)
	p.put("b", "")
	p.put("a/x", "")
	list, err := p.ReadDir(context.Background(), p.path("."))
	if err != nil {
		t.Fatal(err)
	}
	want := []environment.DirEntry{{Name: "a", Type: fs.ModeDir}, {Name: "b"}}
	if len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("got %v", list)
	}
}

func TestChanges_WorkAsInPackageOS(t *testing.T) {
	p := newPlace(t)
	ctx := context.Background()
	a := p.put("a", "A")
	p.put("b", "B")
	if err := p.Rename(ctx, a, p.path("b")); err != nil {
		t.Fatal(err)
	}
	p.holds("b", "A")
	if err := p.MkdirAll(ctx, p.path("d/e/f"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.MkdirAll(ctx, p.path("d/e/f"), 0o700); err != nil {
		t.Errorf("a directory that is there: %v", err)
	}
	if err := p.MkdirAll(ctx, p.path("b"), 0); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a directory over a file: %v", err)
	}
	if err := p.Remove(ctx, p.path("d/e")); err == nil {
		t.Error("a full directory was removed")
	}
	if err := p.Remove(ctx, p.path("d/e/f")); err != nil {
		t.Error(err)
	}
	if err := p.Remove(ctx, p.path("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing nothing: %v", err)
	}
	if err := p.Rename(ctx, p.path("none"), p.path("c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("renaming nothing: %v", err)
	}
}

func TestReplace_LargeContentArrivesWhole(t *testing.T) { // WRF-1, WRI-7
	p := newPlace(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	info, err := p.Replace(context.Background(), p.path("big"), bytes.NewReader(content), environment.ReplaceOptions{})
	if err != nil || info.Size != int64(len(content)) {
		t.Fatalf("%v, %d bytes", err, info.Size)
	}
	p.holds("big", string(content))
	p.clean()
}
