package runtime

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/config"
)

const allowlistKey = "command_allowlist"

// permanentList is what is approved for ever, as the configuration has it now.
type permanentList struct {
	r    *Runtime
	rows *approval.UserRows

	mu   sync.Mutex
	now  *approval.Allowlist
	file os.FileInfo // that now was read from; nil = there was none
}

func listed(d *config.Document, key string) []approval.Listed {
	var out []approval.Listed
	for _, item := range d.Items(key) {
		out = append(out, approval.Listed{Value: item.Value, Line: item.Line, Comment: item.Comment})
	}
	return out
}

// read takes the list from a document that was just loaded.
func (p *permanentList) read(d *config.Document) {
	p.file, _ = os.Stat(d.Path)
	p.now = approval.ReadAllowlist(listed(d, allowlistKey), p.rows)
}

// current is the list as it is in the file. While the file is the same, that costs one look at its name; a file that can't be read
// leaves the list as it was.
func (p *permanentList) current() *approval.Allowlist {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := p.r.doc.Path
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || p.file != nil && os.SameFile(info, p.file) && info.ModTime().Equal(p.file.ModTime()) && info.Size() == p.file.Size() {
		return p.now
	}
	d, err := config.Load(path, p.r.lookupEnv)
	if err != nil {
		p.r.log.Warn("the configuration changed and can't be read; the list of approved commands stays as it was", "error", err)
		p.file = info
		return p.now
	}
	p.read(d)
	return p.now
}

// rememberTime bounds the write of an answer of "always".
const rememberTime = 15 * time.Second

// Remember implements approval.Rememberer.
func (p *permanentList) Remember(ctx context.Context, grants []approval.Grant) error {
	ctx, cancel := context.WithTimeout(ctx, rememberTime)
	defer cancel()
	var items []config.NewItem
	for _, g := range grants {
		if g.Exact == "" && g.Under == "" {
			items = append(items, config.NewItem{Text: config.Quoted(g.Key), Comment: oneLine(approval.AddedComment(g))})
			continue
		}
		var fields []string
		for _, f := range [][2]string{{"key", g.Key}, {"exact", g.Exact}, {"cwd", g.Dir}, {"env", g.Env}, {"under", g.Under},
			{"added", g.Added.Format(time.RFC3339)}, {"by", g.By}} {
			if f[1] != "" {
				fields = append(fields, f[0]+": "+config.Quoted(f[1]))
			}
		}
		items = append(items, config.NewItem{Text: "{" + strings.Join(fields, ", ") + "}"})
	}
	return config.AddItems(ctx, p.r.doc.Path, allowlistKey, items...)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Allowlist is the permanent list as it is in the configuration.
func (r *Runtime) Allowlist() *approval.Allowlist { return r.list.current() }

// Forget takes the entries of the permanent list that are, or stand for, a key. It tells how many there were.
func (r *Runtime) Forget(ctx context.Context, key string) (int, error) {
	named := map[int]bool{}
	for _, e := range r.list.current().Entries {
		if e.Name == key || e.Key == key || len(e.Opens) == 1 && e.Program == "" && e.Opens[0] == key {
			named[e.Line] = true
		}
	}
	n, err := config.RemoveItems(ctx, r.doc.Path, allowlistKey, func(i config.Item) bool {
		if m, ok := i.Value.(map[string]any); ok {
			return m["key"] == key || named[i.Line] && i.Line > 0
		}
		return fmt.Sprint(i.Value) == key || named[i.Line] && i.Line > 0
	})
	if err != nil {
		return 0, fmt.Errorf("forget %q: %w", key, err)
	}
	return n, nil
}
