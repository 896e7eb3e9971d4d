package envs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// place is an environment that only counts.
type place struct {
	environment.FS
	lab  *lab
	id   int
	key  string
	slow chan struct{} // Close waits for it
	ns   environment.Namespace
}

func (p *place) Info() environment.Info {
	return environment.Info{Backend: "lab", ID: fmt.Sprint(p.id), Namespace: p.ns, Home: "/root"}
}
func (p *place) Run(context.Context, environment.Command) (environment.Result, error) {
	return environment.Result{}, nil
}
func (p *place) Files() environment.FS { return p }
func (p *place) Stat(_ context.Context, name environment.Path) (environment.FileInfo, error) {
	i, err := os.Stat(string(name))
	if err != nil {
		return environment.FileInfo{}, err
	}
	return environment.FileInfo{Path: name, Size: i.Size()}, nil
}
func (p *place) Resolve(_ context.Context, name string, _ environment.Path) (environment.Path, error) {
	return environment.Path(name), nil
}
func (p *place) Close(ctx context.Context) error {
	if p.slow != nil {
		select {
		case <-p.slow:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.lab.mu.Lock()
	defer p.lab.mu.Unlock()
	p.lab.closed = append(p.lab.closed, p.id)
	return nil
}

// lab is a backend whose openings a test controls.
type lab struct {
	mu     sync.Mutex
	opened []string // keys, in order
	dirs   []string
	closed []int
	gate   chan struct{} // Open waits for it
	fail   error
	slow   chan struct{}
	ns     environment.Namespace
}

func (l *lab) open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	l.mu.Lock()
	l.opened = append(l.opened, o.Key)
	l.dirs = append(l.dirs, o.Dir)
	id, gate, fail, slow, ns := len(l.opened), l.gate, l.fail, l.slow, l.ns
	l.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, fail
	}
	if ns == "" {
		ns = environment.NamespaceHost
	}
	return &place{lab: l, id: id, key: o.Key, slow: slow, ns: ns}, nil
}

func (l *lab) keys() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.opened, " ")
}

func (l *lab) ended() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.closed)
}

func (l *lab) manager(t *testing.T, o envs.Options) *envs.Manager {
	t.Helper()
	name := "lab-" + strings.ReplaceAll(t.Name(), "/", "-")
	environment.Register(environment.Backend{Name: name, Open: l.open, Namespace: environment.NamespaceHost})
	o.Backend = name
	m := envs.New(o)
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

func at(t *testing.T, m *envs.Manager, task string) environment.Place {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := m.Place(ctx, task)
	if err != nil {
		t.Fatalf("place of %s: %v", task, err)
	}
	return p
}

func TestManager_TasksShareOneEnvironment_MGR1(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	at(t, m, "a")
	at(t, m, "b")
	if got := l.keys(); got != envs.DefaultKey {
		t.Fatalf("opened %q, want the shared one only", got)
	}
	for _, key := range []string{"docker_image", "modal_image", "singularity_image", "daytona_image"} {
		if err := m.Override("b", envs.Override{key: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := m.Key("b"); got != "b" {
			t.Errorf("with %s the task works in %q, want its own", key, got)
		}
	}
	at(t, m, "b")
	if err := m.Override("b", nil); err != nil {
		t.Fatal(err)
	}
	at(t, m, "b")
	if got := l.keys(); got != "default b" {
		t.Errorf("opened %q, want the shared one again after the override is taken back", got)
	}
	if err := m.Override("b", envs.Override{"colour": "red"}); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("unknown override: error %v, want one that names it", err)
	}
}

func TestManager_BackendOverrideIsUsedOrFails_MGR4(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	if err := m.Override("a", envs.Override{envs.KeyBackend: "nowhere"}); err != nil {
		t.Fatal(err)
	}
	_, err := m.Place(t.Context(), "a")
	if !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "lab-") {
		t.Errorf("error %v, want a configuration error with the name and the known ones", err)
	}
	if l.keys() != "" {
		t.Errorf("opened %q: a call never runs in another backend", l.keys())
	}
}

func TestManager_CarriedDirectory_MGR2(t *testing.T) {
	l := &lab{}
	base, over := t.TempDir(), t.TempDir()
	m := l.manager(t, envs.Options{Cwd: base})
	if got := m.Dir("a"); got != base {
		t.Errorf("directory before any use %q, want the configured %q", got, base)
	}
	p := at(t, m, "a")
	if p.State.Dir() != environment.Path(base) {
		t.Errorf("first directory %q, want %q", p.State.Dir(), base)
	}
	p.State.SetDir("/elsewhere")
	if err := m.Override("a", envs.Override{"cwd": over}); err != nil {
		t.Fatal(err)
	}
	if got := m.Dir("a"); got != over {
		t.Errorf("directory right after the override %q, want %q", got, over)
	}
	if got := at(t, m, "a").State.Dir(); got != environment.Path(over) {
		t.Errorf("directory %q, want the override %q", got, over)
	}
	p.State.SetDir("/elsewhere")
	if err := m.Override("a", envs.Override{}); err != nil {
		t.Fatal(err)
	}
	if got := at(t, m, "a").State.Dir(); got != "/elsewhere" {
		t.Errorf("an override without cwd moved the task to %q", got)
	}
	if got := l.keys(); got != envs.DefaultKey {
		t.Errorf("opened %q, want one environment: a directory is no reason for another", got)
	}
}

func TestManager_ConcurrentFirstUsesMakeOne_MGR3(t *testing.T) {
	l := &lab{gate: make(chan struct{}), fail: errors.New("no room")}
	m := l.manager(t, envs.Options{})
	const n = 20
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := m.Place(t.Context(), "a")
			errs <- err
		}()
	}
	close(l.gate)
	for range n {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("error %v, want the reason of the failure for all who waited", err)
		}
	}
	l.mu.Lock()
	l.fail = nil
	l.mu.Unlock()
	at(t, m, "a")
}

func TestManager_OnlyOneIsMade_MGR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { at(t, m, "a") })
		}
		synctest.Wait()
		close(l.gate)
		wg.Wait()
		if got := l.keys(); got != envs.DefaultKey {
			t.Errorf("opened %q, want one", got)
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_WaiterThatGivesUpLeavesTheOthers_MGR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		ctx, giveUp := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := m.Place(ctx, "a"); first <- err }()
		synctest.Wait()
		go func() { _, err := m.Place(t.Context(), "a"); second <- err }()
		synctest.Wait()
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up got %v", err)
		}
		close(l.gate)
		if err := <-second; err != nil {
			t.Errorf("the other got %v", err)
		}
		if got := l.keys(); got != envs.DefaultKey {
			t.Errorf("opened %q, want one", got)
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_OpeningThatNobodyWaitsForIsGivenUp_MGR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		ctx, giveUp := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { _, err := m.Place(ctx, "a"); first <- err }()
		synctest.Wait()
		giveUp()
		<-first
		close(l.gate)
		at(t, m, "a")
		if got := l.keys(); got != "default default" {
			t.Errorf("opened %q, want a second one", got)
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_IdleEnvironmentsAreClosed_MGR5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{}
		var mu sync.Mutex
		busy := false
		m := l.manager(t, envs.Options{Lifetime: 300 * time.Second, Busy: func(string) bool { mu.Lock(); defer mu.Unlock(); return busy }})
		p := at(t, m, "a")
		p.State.SetDir("/somewhere")
		time.Sleep(299 * time.Second)
		synctest.Wait()
		if l.ended() != "[]" {
			t.Fatalf("closed %s before its time", l.ended())
		}

		ctx, done := context.WithCancel(t.Context())
		if _, err := m.Place(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if l.ended() != "[]" {
			t.Fatalf("closed %s while a call holds it", l.ended())
		}
		mu.Lock()
		busy = true
		mu.Unlock()
		done()
		time.Sleep(time.Hour)
		synctest.Wait()
		if l.ended() != "[]" {
			t.Fatalf("closed %s while a job runs in it", l.ended())
		}
		mu.Lock()
		busy = false
		mu.Unlock()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if l.ended() != "[1]" {
			t.Fatalf("closed %s, want the idle one", l.ended())
		}
		if got := at(t, m, "a").State.Dir(); got != "/somewhere" {
			t.Errorf("directory %q after the environment was made again, want the carried one", got)
		}
		time.Sleep(400 * time.Second)
		synctest.Wait()
		if l.ended() != "[1 2]" {
			t.Errorf("closed %s, want the second one reaped too", l.ended())
		}
		_ = m.Close(t.Context())
	})
}

func TestManager_RenewReplacesOnlyTheOldOne_MGR6(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	old := at(t, m, "a").Environment
	first, err := m.Renew(t.Context(), "a", old)
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Renew(t.Context(), "b", old)
	if err != nil {
		t.Fatal(err)
	}
	if first.Environment == old || first.Environment != second.Environment {
		t.Errorf("want one new environment for both who found the old one gone")
	}
}

func TestManager_ResetThrowsAway_MGR6(t *testing.T) {
	l := &lab{}
	m := l.manager(t, envs.Options{})
	if err := m.Reset(t.Context(), envs.DefaultKey); err != nil {
		t.Fatalf("reset of nothing: %v", err)
	}
	at(t, m, "a").State.SetDir("/kept")
	if err := m.Reset(t.Context(), envs.DefaultKey); err != nil {
		t.Fatal(err)
	}
	if l.ended() != "[1]" {
		t.Errorf("closed %s", l.ended())
	}
	if got := at(t, m, "a").State.Dir(); got != "/kept" {
		t.Errorf("directory %q, want the carried one", got)
	}
}

func TestManager_NoKeyWaitsForAnother_MGR7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gate: make(chan struct{}), slow: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		if err := m.Override("own", envs.Override{"docker_image": "x"}); err != nil {
			t.Fatal(err)
		}
		opening := make(chan error, 1)
		go func() { _, err := m.Place(t.Context(), "own"); opening <- err }()
		synctest.Wait()
		l.mu.Lock()
		gate := l.gate
		l.gate = nil
		l.mu.Unlock()
		at(t, m, "a") // while the other is being made
		go func() { _ = m.Reset(t.Context(), envs.DefaultKey) }()
		synctest.Wait()
		close(gate)
		if err := <-opening; err != nil { // while the first is being closed
			t.Fatal(err)
		}
		close(l.slow)
		_ = m.Close(t.Context())
	})
}

func TestManager_CloseIsBoundedAndNamesTheRest_MGR7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{slow: make(chan struct{})}
		m := l.manager(t, envs.Options{})
		at(t, m, "a")
		begin := time.Now()
		err := m.Close(t.Context())
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("closing took %v", took)
		}
		if err == nil || !strings.Contains(err.Error(), envs.DefaultKey) || !strings.Contains(err.Error(), "lab 1") {
			t.Errorf("error %v, want one that names what was not closed", err)
		}
		close(l.slow)
		synctest.Wait()
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
		if _, err := m.Place(t.Context(), "a"); !errors.Is(err, environment.ErrUnavailable) {
			t.Errorf("a place after close: %v", err)
		}
	})
}

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
