// Package ssh runs commands on a host that is reached over SSH, which it speaks itself.
package ssh

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        name,
		Description: "commands run on another host, over SSH",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(any) environment.Traits { return traits },
		Open:        open,
		Finds:       true,
		Probe:       probe,
		Bare:        &bare,
	})
}

// traits are those of a machine: nothing keeps a command from what the user may do there.
var traits = environment.Traits{HostLike: true, Network: true}

// check says why no host can be reached, as far as that can be told from here.
func check(ctx context.Context, o environment.OpenOptions) error {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return err
	}
	if _, err := c.source(o.Variable).route(ctx, c.wanted()); err != nil {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: "find out how to reach " + c.Host, Err: err}
	}
	return nil
}

func (c *Config) source(getenv func(string) string) source {
	return source{file: expander{settings: &settings{}, getenv: getenv}.file(c.SSHConfig), getenv: getenv}
}

func (c *Config) wanted() wanted { return wanted{host: c.Host, user: c.User, port: c.Port} }

// visit makes what opens and probes places.
func visit(c *Config, o environment.OpenOptions) *place {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	x := expander{settings: &settings{}, getenv: o.Variable}
	return &place{
		config: c, o: o, log: log, finder: brought.Finder{Mode: c.Resident, Path: x.file(c.ResidentPath), Self: o.GuardArgv},
		dialer: dialer{source: c.source(o.Variable), want: c.wanted(), key: c.Key, ask: o.AskSecret, log: log},
		base:   environment.Info{Backend: name, ID: c.Host, Namespace: environment.NamespaceOwn, Traits: traits},
	}
}

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return nil, err
	}
	p := visit(c, o)
	return contact.Open(ctx, contact.Options{What: "host " + c.Host, Info: p.base, Dial: p.reach, Variables: o.LetThrough})
}

// probe tells doctor what works.
func probe(ctx context.Context, o environment.OpenOptions) []string {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return []string{err.Error()}
	}
	self, _ := os.Executable() // without it the configured binary is looked at only
	if o.GuardArgv == nil {
		o.GuardArgv = slices.DeleteFunc([]string{self}, func(s string) bool { return s == "" })
	}
	p := visit(c, o)
	conn, err := p.dialer.dial(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	defer conn.Close()
	t := conn.last
	lines := []string{fmt.Sprintf("%s@%s port %d answers (%s), the host is known", t.user, t.host, t.port, conn.ServerVersion())}
	lines = append(lines, kept(ctx, conn)...)
	prog, err := p.finder.Program(brought.Here())
	if err != nil {
		return append(lines, plain.Note(err.Error()))
	}
	switch _, code, err := conn.do(ctx, forShell("h="+prog.Hash+`; test -x "$HOME/.cache/hermes/resident-$h" || exit 90`), nil); {
	case code == codeMissing:
		lines = append(lines, "hermes is not there yet and will be brought at the first use")
	case err != nil:
		lines = append(lines, fmt.Sprintf("no command can be run there: %v", err))
	default:
		lines = append(lines, "hermes is there")
	}
	return lines
}

// kept tells of the jobs that go on there, whosever they are: what a HERMES_HOME left behind is listed by that one only.
func kept(ctx context.Context, conn *connection) []string {
	out, _, err := conn.do(ctx, forShell(`n=0; for d in "$HOME"/.cache/hermes/*/jobs/*; do if test -e "$d/job.json"; then test -e "$d/receipt.json" || n=$((n+1)); fi; done; echo "$n"`), nil)
	out = strings.TrimSpace(out)
	n := out[strings.LastIndexByte(out, '\n')+1:] // after what start-up files print
	if err != nil || n == "0" {
		return nil
	}
	return []string{"background processes that may go on there: " + n + ", of all HERMES_HOMEs of that user together; hermes process list shows those of one, and their records are below ~/.cache/hermes"}
}
