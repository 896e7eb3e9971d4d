package tool

import (
	"maps"
	"slices"
	"sync"
)

// Memory is where tools keep what they remember from call to call: they have no state of their own. The runtime offers one as a
// service; a tool that finds none works without memory. The zero value is ready. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	tasks map[string]*remembered
}

// remembered is what belongs to one task.
type remembered struct {
	calls  uint64
	values map[any]any
}

// Of gives the value that is kept for a task under key, which is a type of the tool's own as with a context; fresh makes it where
// there is none. Task "" is shared by all tasks. fresh must not call the Memory.
func (m *Memory) Of(task string, key any, fresh func() any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.task(task)
	v, ok := r.values[key]
	if !ok {
		v = fresh()
		r.values[key] = v
	}
	return v
}

// Values are what is kept for a task, in no order: for those who look for a value by what it can do.
func (m *Memory) Values(task string) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tasks[task] == nil {
		return nil
	}
	return slices.Collect(maps.Values(m.tasks[task].values))
}

// Forget drops what is kept for a task, because it ended or because its context no longer holds what it read. The number of its
// calls goes on.
func (m *Memory) Forget(task string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tasks[task]; r != nil {
		clear(r.values)
	}
}

// End forgets a task wholly.
func (m *Memory) End(task string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tasks, task)
}

// Called counts a call of the task, whatever its tool, and gives its number, from 1 on.
func (m *Memory) Called(task string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.task(task)
	r.calls++
	return r.calls
}

// task finds or makes a record. mu is held.
func (m *Memory) task(name string) *remembered {
	if m.tasks == nil {
		m.tasks = map[string]*remembered{}
	}
	r := m.tasks[name]
	if r == nil {
		r = &remembered{values: map[any]any{}}
		m.tasks[name] = r
	}
	return r
}
