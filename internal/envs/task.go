package envs

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// task is what one task carries. It outlives the environments that it works in.
type task struct {
	parent    string // in whose place it works; "" = in its own or the shared one
	override  Override
	state     *environment.State
	workspace environment.Path
}

// assign finds the key that a task works under.
func (m *Manager) assign(name string) (string, Override) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owner, t := m.owner(name)
	if t.override.alone() {
		return owner, t.override
	}
	return DefaultKey, nil
}

// owner finds the task whose overrides say where a task works: itself, or the ancestor that it shares the place of. Manager.mu is held.
func (m *Manager) owner(name string) (string, *task) {
	t := m.task(name)
	for t.parent != "" {
		name = t.parent
		t = m.task(name)
	}
	return name, t
}

// task finds or makes the record. Manager.mu is held.
func (m *Manager) task(name string) *task {
	t := m.tasks[name]
	if t == nil {
		t = &task{state: &environment.State{}}
		m.tasks[name] = t
	}
	return t
}

// Key is the environment that a task works in.
func (m *Manager) Key(name string) string {
	key, _ := m.assign(name)
	return key
}

// Carried are the exported variables and functions that a task carries from one command to the next.
func (m *Manager) Carried(name string) (vars, functions map[string]string) {
	m.mu.Lock()
	state := m.task(name).state
	m.mu.Unlock()
	return state.Variables(), state.Functions()
}

// Backend is the one that a task works in.
func (m *Manager) Backend(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.backend(name)
}

// backend is the one that a task works in. Manager.mu is held.
func (m *Manager) backend(name string) string {
	_, t := m.owner(name)
	return cmp.Or(t.override[KeyBackend], m.o.Backend)
}

// Override replaces what a task changes about its environment; nil takes it back. A cwd in it replaces the carried directory at
// once; without one the directory stays.
func (m *Manager) Override(name string, o Override) error {
	if err := o.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.task(name)
	owner, from := m.owner(name)
	if s := m.slots[name]; owner == name && s != nil && s.env != nil && t.override.alone() && t.override.moves(o) {
		m.retire(name, s)
	}
	if from.override.moves(o) { // another place: neither directory nor workspace of the former one means anything there
		t.parent = "" // a child that is moved works in its parent's place no more
		t.workspace = ""
		t.state.SetDir("")
		m.follow(name, o)
	}
	t.override = maps.Clone(o)
	if o[KeyCwd] != "" {
		t.state.SetDir("") // settled from the override at the next use
	}
	return nil
}

// follow moves the children that work in a task's place with it. Manager.mu is held.
func (m *Manager) follow(name string, o Override) {
	for child, c := range m.tasks {
		if c.parent == name {
			c.override, c.workspace = maps.Clone(o), ""
			c.state.SetDir("")
			m.follow(child, o)
		}
	}
}

// Child lets a task work where its parent does, and begin with what that carries: directory, variables, workspace.
func (m *Manager) Child(parent, child string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.task(parent)
	m.tasks[child] = &task{parent: parent, override: maps.Clone(p.override), state: p.state.Clone(), workspace: p.workspace}
}

// Forget drops what an ended task carried, and closes the environment that it had. Children that outlive it have one like it, if they need
// any.
func (m *Manager) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tasks[name]
	if t == nil {
		return
	}
	delete(m.tasks, name)
	for _, c := range m.tasks {
		if c.parent == name {
			c.parent = t.parent
		}
	}
	if s := m.slots[name]; t.override.alone() && s != nil && s.env != nil { // none, where it worked in its parent's place
		m.retire(name, s)
	}
}

// Dir is the directory that relative names of a task start from, without making an environment; "" if only the environment knows.
func (m *Manager) Dir(name string) string {
	m.mu.Lock()
	t := m.task(name)
	backend, cwd, dir := m.backend(name), t.override[KeyCwd], t.state.Dir()
	m.mu.Unlock()
	if dir != "" {
		return string(dir)
	}
	b, ok := environment.Lookup(backend)
	if !ok || b.Namespace != environment.NamespaceHost {
		return ""
	}
	if cwd == "" {
		cwd = m.o.Cwd
	}
	return StartDir(cwd)
}

// settle gives a task its first directory and its workspace, once it is known where it works.
func (m *Manager) settle(ctx context.Context, name string, env environment.Environment) (*environment.State, environment.Path) {
	m.mu.Lock()
	t := m.task(name)
	cwd, state, workspace := t.override[KeyCwd], t.state, t.workspace
	m.mu.Unlock()
	if state.Dir() != "" && workspace != "" {
		return state, workspace
	}
	if cwd == "" {
		cwd = m.o.Cwd
	}
	first := state.Dir()
	if first == "" {
		first = firstDir(ctx, env, cwd)
	}
	if workspace == "" {
		workspace = Workspace(ctx, env.Files(), first)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.state.Dir() == "" {
		t.state.SetDir(first)
	}
	if t.workspace == "" {
		t.workspace = workspace
	}
	return t.state, t.workspace
}

// firstDir is cwd as a path of env.
func firstDir(ctx context.Context, env environment.Environment, cwd string) environment.Path {
	info := env.Info()
	if info.Namespace == environment.NamespaceHost {
		return environment.Path(StartDir(cwd))
	}
	if inside, ok := mounted(info.Traits.Mounts, StartDir(cwd)); ok {
		return inside
	}
	if hostOnly(cwd) {
		return info.Home
	}
	if p, err := env.Files().Resolve(ctx, cwd, info.Home); err == nil {
		return p
	}
	return info.Home
}

// mounted is where a directory of this machine is found in a place that shows it.
func mounted(mounts []environment.Mount, dir string) (environment.Path, bool) {
	for _, m := range mounts {
		if m.Host == dir {
			return m.Inside, true
		}
	}
	return "", false
}

// processDir are the values of terminal.cwd that mean the directory of the process.
var processDir = []string{"", ".", "./", "auto", "cwd"}

// hostOnly tells whether a directory can only have been meant for the machine that the configuration lies on.
func hostOnly(cwd string) bool {
	return slices.Contains(processDir, cwd) || strings.HasPrefix(cwd, "/Users/") || strings.HasPrefix(cwd, "/home/") ||
		!(strings.HasPrefix(cwd, "/") || strings.HasPrefix(cwd, "~"))
}

// StartDir is the directory on this machine that cwd means: "", ".", "./", "auto" and "cwd" the one of the process, another relative
// one starts from there, ~ is the home directory. Where the directory of the process is gone it is the home directory.
func StartDir(cwd string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = string(filepath.Separator)
	}
	if cwd == "~" || strings.HasPrefix(cwd, "~/") {
		return filepath.Join(home, cwd[1:])
	}
	if filepath.IsAbs(cwd) {
		return filepath.Clean(cwd)
	}
	base, err := os.Getwd()
	if err == nil {
		_, err = os.Stat(base)
	}
	switch {
	case err != nil:
		return home
	case slices.Contains(processDir, cwd):
		return base
	}
	return filepath.Join(base, cwd)
}

// Workspace is the repository around dir: the nearest directory upwards that holds .git. Without one it is dir.
func Workspace(ctx context.Context, files environment.FS, dir environment.Path) environment.Path {
	if files == nil || dir == "" {
		return dir
	}
	for at := string(dir); ; at = path.Dir(at) {
		if _, err := files.Stat(ctx, environment.Path(path.Join(at, ".git"))); err == nil {
			return environment.Path(at)
		}
		if at == path.Dir(at) {
			return dir
		}
	}
}
