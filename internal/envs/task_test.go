package envs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestManager_ChildStartsWithACopy_MGR1(t *testing.T) {
	l := &lab{}
	dir := t.TempDir()
	m := l.manager(t, envs.Options{Cwd: dir})
	parent := at(t, m, "parent")
	v := "1"
	parent.State.Merge(environment.Snapshot{}, environment.Snapshot{Dir: "/there", Vars: map[string]*string{"X": &v}})
	m.Child("parent", "child")
	child := at(t, m, "child")
	if child.State.Dir() != "/there" || child.State.Snapshot().Vars["X"] == nil || child.Workspace != parent.Workspace {
		t.Errorf("child carries %v in workspace %q", child.State.Snapshot(), child.Workspace)
	}
	child.State.SetDir("/else")
	if parent.State.Dir() != "/there" {
		t.Error("the child moved its parent")
	}
}

// DEL-3: a child works where its parent does, in a place of the parent's own too; it follows where that moves, and isn't let loose into the
// shared place where the parent is gone.
func TestManager_ChildSharesThePlaceOfItsParent_DEL3(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{Cwd: t.TempDir()})
	own := envs.Override{"docker_image": "x"}
	if err := m.Override("parent", own); err != nil {
		t.Fatal(err)
	}
	parent := at(t, m, "parent")
	parent.State.SetDir("/inside")
	m.Child("parent", "child")
	m.Child("child", "grandchild")
	for _, name := range []string{"child", "grandchild"} {
		if p := at(t, m, name); p.Environment != parent.Environment || m.Key(name) != "parent" || p.State.Dir() != "/inside" {
			t.Errorf("%s works in %s at %s", name, m.Key(name), p.State.Dir())
		}
	}
	m.Forget("grandchild")
	if at(t, m, "parent").Environment != parent.Environment {
		t.Error("the end of a child closed its parent's place")
	}
	if err := m.Override("parent", envs.Override{"docker_image": "y"}); err != nil {
		t.Fatal(err)
	}
	moved := at(t, m, "child")
	if moved.Environment == parent.Environment || moved.Environment != at(t, m, "parent").Environment || moved.State.Dir() == "/inside" {
		t.Error("the child didn't follow its parent")
	}
	m.Forget("parent")
	if key := m.Key("child"); key != "child" {
		t.Errorf("without its parent the child works in %q", key)
	}
	if err := m.Override("child", nil); err != nil {
		t.Fatal(err)
	}
	if key := m.Key("child"); key != envs.DefaultKey {
		t.Errorf("its override taken back, the child works in %q", key)
	}
}

func TestManager_ForgetClosesTheTasksOwn(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	at(t, m, "a").State.SetDir("/gone")
	m.Forget("a")
	if got := at(t, m, "a").State.Dir(); got == "/gone" {
		t.Error("a forgotten task still carries its directory")
	}
	if err := m.Override("b", envs.Override{"docker_image": "x"}); err != nil {
		t.Fatal(err)
	}
	at(t, m, "b")
	m.Forget("b")
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.Open()) != 0 {
		t.Errorf("still open: %v", m.Open())
	}
}

func TestWorkspace_IsTheRepositoryAround(t *testing.T) {
	l := &lab{}
	repo := t.TempDir()
	deep := filepath.Join(repo, "a", "b")
	for _, d := range []string{deep, filepath.Join(repo, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := l.manager(t, envs.Options{Cwd: deep})
	p := at(t, m, "a")
	if p.Workspace != environment.Path(repo) {
		t.Errorf("workspace %q, want %q", p.Workspace, repo)
	}
	p.State.SetDir("/")
	if got := at(t, m, "a").Workspace; got != environment.Path(repo) {
		t.Errorf("workspace %q after a change of directory, want the first one", got)
	}
	bare := l.manager(t, envs.Options{Cwd: t.TempDir()})
	if p := at(t, bare, "a"); p.Workspace != p.State.Dir() {
		t.Errorf("workspace %q without a repository, want %q", p.Workspace, p.State.Dir())
	}
}

func TestStartDir_MGR8(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	home := t.TempDir()
	t.Setenv("HOME", home)
	for cwd, want := range map[string]string{
		"": here, ".": here, "./": here, "auto": here, "cwd": here, "sub": filepath.Join(here, "sub"),
		"/abs/x/../y": "/abs/y", "~": home, "~/p": filepath.Join(home, "p"),
	} {
		if got := envs.StartDir(cwd); got != want {
			t.Errorf("StartDir(%q) = %q, want %q", cwd, got, want)
		}
	}
	if err := os.Remove(here); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Skip("a directory in use can't be removed here")
	}
	if got := envs.StartDir("."); got != home {
		t.Errorf("in a deleted directory %q, want home %q", got, home)
	}
}

func TestFirstDirectory_HostPathsDontReachOtherPlaces_MGR8(t *testing.T) {
	for cwd, want := range map[string]environment.Path{
		"/home/me/p": "/root", "/Users/me": "/root", `C:\x`: "/root", ".": "/root", "rel": "/root", "/srv/app": "/srv/app",
	} {
		l := &lab{ns: environment.NamespaceOwn}
		m := l.manager(t, envs.Options{Cwd: cwd})
		if got := at(t, m, "a").State.Dir(); got != want {
			t.Errorf("cwd %q starts in %q, want %q", cwd, got, want)
		}
	}
}
