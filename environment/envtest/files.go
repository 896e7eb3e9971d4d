package envtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// fileSystem holds the operations on files.
var fileSystem = []check{
	{"FS_ResolveFollowsWhatIsThere", "", resolveFollows},
	{"FS_FilesAreThoseThatCommandsSee", "", filesAreShared},
	{"FS_ReplaceKeepsItsPromises", "", replaceKeeps},
	{"FS_NamesChange", "", namesChange},
	{"FS_OnlyRegularFilesAreRead", "", func(t *testing.T, s *suite) {
		d := s.dir(t)
		s.sh(t, "mkfifo '"+string(d)+"/fifo'; mkdir '"+string(d)+"/dir'")
		for _, name := range []string{"fifo", "dir"} {
			if r, err := s.env.Files().Read(t.Context(), join(d, name), 0, -1); err == nil {
				r.Close()
				t.Errorf("a %s was opened", name)
			}
		}
		if _, err := s.env.Files().Read(t.Context(), join(d, "none"), 0, -1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing: %v", err)
		}
	}},
	{"FS_GuardsJudgeAtTheMomentOfUse", "", guardsJudge},
}

// searching holds the search where it lies.
var searching = []check{
	{"SEARCH_ContentsAndNames", Search, searchFinds},
	{"SEARCH_EndsWithItsContext", Search, func(t *testing.T, s *suite) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		m, err := s.env.(environment.Searcher).Search(ctx, environment.Query{Pattern: "x", Root: s.env.Info().Temp, Mode: environment.SearchContent})
		if err == nil && !m.TimedOut {
			t.Errorf("%+v", m)
		}
	}},
}

func resolveFollows(t *testing.T, s *suite) {
	d := s.dir(t)
	s.sh(t, `cd '`+string(d)+`' && mkdir -p a/b && ln -s a/b link && ln -s nowhere dangling && echo >a/f`)
	for name, want := range map[string]string{
		".": "", "a": "a", "./a/../a/f": "a/f", "link": "a/b", "link/../f": "a/f", "new": "new", "a/new/x": "a/new/x", "link/new": "a/b/new",
		"dangling": "nowhere", string(d) + "/a/": "a", "$HOME": "$HOME", "*": "*",
	} {
		got, err := s.env.Files().Resolve(t.Context(), name, d)
		if err != nil || got != join(d, want) {
			t.Errorf("%q: %q, %v; want %q", name, got, err, join(d, want))
		}
	}
	home := strings.TrimSpace(s.sh(t, "cd ~ && pwd -P"))
	if got, err := s.env.Files().Resolve(t.Context(), "~/envtest-none", d); err != nil || string(got) != home+"/envtest-none" {
		t.Errorf("~: %q, %v; want below %s", got, err, home)
	}
}

func filesAreShared(t *testing.T, s *suite) {
	f, d := s.env.Files(), s.dir(t)
	put(t, f, join(d, "x"), "from here\n")
	if out := s.sh(t, "cat '"+string(d)+"/x'; printf 0123456789 >'"+string(d)+"/y'; chmod 640 '"+string(d)+"/y'"); out != "from here\n" {
		t.Errorf("a command reads %q", out)
	}
	for _, row := range []struct {
		off, n int64
		want   string
	}{{0, -1, "0123456789"}, {3, 4, "3456"}, {8, 10, "89"}, {10, -1, ""}, {20, 5, ""}, {0, 0, ""}} {
		r, err := f.Read(t.Context(), join(d, "y"), row.off, row.n)
		if err != nil {
			t.Errorf("read %d from %d: %v", row.n, row.off, err)
			continue
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(b) != row.want {
			t.Errorf("read %d from %d: %q, %v; want %q", row.n, row.off, b, err, row.want)
		}
	}
	i, err := f.Stat(t.Context(), join(d, "y"))
	if err != nil || i.Size != 10 || i.Mode.Perm() != 0o640 || i.Links != 1 || i.ModTime.IsZero() || i.Inode == 0 {
		t.Errorf("%+v, %v", i, err)
	}
}

func replaceKeeps(t *testing.T, s *suite) {
	f, d, ctx := s.env.Files(), s.dir(t), t.Context()
	replace := func(name, text string, o environment.ReplaceOptions) (environment.FileInfo, error) {
		return f.Replace(ctx, join(d, name), strings.NewReader(text), o)
	}
	var out environment.ReplaceOutcome
	i, err := replace("p/q/x", "1", environment.ReplaceOptions{Parents: true, Mode: 0o600, Result: &out})
	if err != nil || i.Size != 1 || i.Mode.Perm() != 0o600 || !out.Created || !out.DirsCreated {
		t.Fatalf("%+v, %+v, %v", i, out, err)
	}
	if _, err := replace("none/x", "1", environment.ReplaceOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing parents: %v", err)
	}
	if _, err := replace("p/q/x", "2", environment.ReplaceOptions{Exclusive: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("exclusive: %v", err)
	}
	s.sh(t, "chmod 751 '"+string(d)+"/p/q/x'")
	if i, err = f.Stat(ctx, join(d, "p/q/x")); err != nil {
		t.Fatal(err)
	}
	if i, err = replace("p/q/x", "22", environment.ReplaceOptions{Unchanged: &i}); err != nil || i.Mode.Perm() != 0o751 {
		t.Errorf("an existing one keeps its mode: %+v, %v", i, err)
	}
	s.sh(t, "printf 333 >'"+string(d)+"/p/q/x'")
	if _, err := replace("p/q/x", "4", environment.ReplaceOptions{Unchanged: &i}); !errors.Is(err, environment.ErrChanged) {
		t.Errorf("changed meanwhile: %v", err)
	}
	if _, err := f.Replace(ctx, join(d, "p/q/x"), io.MultiReader(strings.NewReader("half"), failing{}), environment.ReplaceOptions{}); err == nil {
		t.Error("a broken source was taken")
	}
	if got := get(t, f, join(d, "p/q/x")); got != "333" {
		t.Errorf("the file is %q now", got)
	}
	// What was begun is taken back there when the news of the broken source arrives.
	list := "ls -A '" + string(d) + "/p/q'"
	if out := s.sh(t, `i=0; while [ $i -lt 100 ] && [ "$(`+list+`)" != x ]; do sleep 0.1; i=$((i+1)); done; `+list); out != "x\n" {
		t.Errorf("left beside it: %q", out)
	}
}

func namesChange(t *testing.T, s *suite) {
	f, d, ctx := s.env.Files(), s.dir(t), t.Context()
	if err := f.MkdirAll(ctx, join(d, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, f, join(d, "a/b/x"), "1")
	if err := f.Rename(ctx, join(d, "a/b/x"), join(d, "a/y")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, f, join(d, "a/y")); got != "1" {
		t.Errorf("%q", got)
	}
	list, err := f.ReadDir(ctx, join(d, "a"))
	if err != nil || len(list) != 2 || list[0].Name != "b" || !list[0].Type.IsDir() || list[1].Name != "y" || !list[1].Type.IsRegular() {
		t.Errorf("%+v, %v", list, err)
	}
	for _, name := range []string{"a/y", "a/b"} {
		if err := f.Remove(ctx, join(d, name)); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	if err := f.Remove(ctx, join(d, "a/y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove what is gone: %v", err)
	}
}

func guardsJudge(t *testing.T, s *suite) {
	g, ok := s.env.Files().(environment.Guarder)
	if !ok {
		t.Skip("no guards there")
	}
	d := s.dir(t)
	put(t, s.env.Files(), join(d, "secret"), "1")
	s.sh(t, "cd '"+string(d)+"' && ln -s secret link && ln secret hard")
	info, err := s.env.Files().Stat(t.Context(), join(d, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	f := g.Guarded(func(p environment.Path, i *environment.FileInfo, _ environment.Operation) error {
		if p == join(d, "secret") || i != nil && i.Same(info) {
			return errors.New("not this one")
		}
		return nil
	})
	for _, name := range []string{"secret", "link", "hard"} {
		if r, err := f.Read(t.Context(), join(d, name), 0, -1); !errors.Is(err, environment.ErrGuarded) {
			if err == nil {
				r.Close()
			}
			t.Errorf("read %s: %v", name, err)
		}
		if _, err := f.Replace(t.Context(), join(d, name), strings.NewReader("2"), environment.ReplaceOptions{}); !errors.Is(err, environment.ErrGuarded) {
			t.Errorf("replace %s: %v", name, err)
		}
	}
	if got := get(t, s.env.Files(), join(d, "secret")); got != "1" {
		t.Errorf("the file is %q now", got)
	}
	put(t, f, join(d, "other"), "3")
}

func searchFinds(t *testing.T, s *suite) {
	d, find := s.dir(t), s.env.(environment.Searcher)
	put(t, s.env.Files(), join(d, "a.txt"), "one\ntwo needle\nthree\n")
	put(t, s.env.Files(), join(d, "b.go"), "needle\n")
	m, err := find.Search(t.Context(), environment.Query{Pattern: "need.e", Root: d, Mode: environment.SearchContent, Context: 1})
	if err != nil || m.Total != 2 || len(m.Matches) != 2 || m.Matches[0].Path != join(d, "a.txt") || m.Matches[0].Line != 2 || len(m.Matches[0].Context) != 2 {
		t.Errorf("contents: %+v, %v", m, err)
	}
	m, err = find.Search(t.Context(), environment.Query{Pattern: "needle", Root: d, Glob: "*.go", Mode: environment.SearchFiles})
	if err != nil || len(m.Files) != 1 || m.Files[0] != join(d, "b.go") {
		t.Errorf("files: %+v, %v", m, err)
	}
	m, err = find.Search(t.Context(), environment.Query{Pattern: "*.txt", Names: true, Root: d})
	if err != nil || len(m.Files) != 1 || m.Files[0] != join(d, "a.txt") {
		t.Errorf("names: %+v, %v", m, err)
	}
	skip := func(p environment.Path) bool { return strings.HasSuffix(string(p), "b.go") }
	if m, err = find.Search(t.Context(), environment.Query{Pattern: "needle", Root: d, Mode: environment.SearchFiles, Skip: skip}); err != nil || len(m.Files) != 1 {
		t.Errorf("guarded: %+v, %v", m, err)
	}
}

// failing is a source that breaks.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func put(t *testing.T, f environment.FS, p environment.Path, text string) {
	t.Helper()
	if _, err := f.Replace(t.Context(), p, strings.NewReader(text), environment.ReplaceOptions{}); err != nil {
		t.Fatalf("write %s: %v", p, err)
	}
}

func get(t *testing.T, f environment.FS, p environment.Path) string {
	t.Helper()
	r, err := f.Read(t.Context(), p, 0, -1)
	if err != nil {
		t.Fatalf("read %s: %v", p, err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s: %v", p, err)
	}
	return string(b)
}
