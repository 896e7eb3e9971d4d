package ssh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// greetTime is how long the engine on the host may take to answer its first greeting.
const greetTime = 20 * time.Second

// place is a host as an environment: the engine runs there, at the other end of a channel.
type place struct {
	config *Config
	o      environment.OpenOptions
	log    *slog.Logger
	finder brought.Finder
	dialer dialer
	base   environment.Info

	machine *brought.Machine // what the host turned out to be; nil = as this one, until it says otherwise
	from    int              // number of the first cellar that programs can be run from
	plain   string           // why the engine can't run there, where a plain shell has to do
}

// link is one contact: the engine there, and the connection that leads to it.
type link struct {
	*resident.Place
	conn *connection
}

// Close takes leave of the engine and hangs up. Connections of other places stay.
func (l *link) Close(ctx context.Context) error {
	err := l.Place.Close(ctx)
	return errors.Join(err, l.conn.Close())
}

// reach makes contact: a connection of the place's own, and the engine at the other end. The binary is looked for meanwhile. Where the
// engine can't run a plain shell will do, which is settled at the first contact.
func (p *place) reach(ctx context.Context, d contact.Dialing) (contact.Link, bool, error) {
	want := brought.Here()
	if p.machine != nil {
		want = *p.machine
	}
	search := search(p.finder, want)
	conn, err := p.dialer.dial(ctx)
	if err != nil {
		return nil, false, &environment.Error{Kind: environment.ErrUnavailable, Op: "reach " + p.config.Host, Err: err}
	}
	if p.plain == "" {
		r, err := p.start(ctx, conn, search)
		if err == nil {
			return &link{r, conn}, false, nil
		}
		if d.Number > 0 || ctx.Err() != nil || conn.lost() || p.config.Resident == brought.Require || errors.Is(err, environment.ErrConfig) {
			_ = conn.Close()
			return nil, false, &environment.Error{Kind: environment.ErrUnavailable, Op: "run hermes on " + p.config.Host, Err: err}
		}
		p.plain = err.Error()
		p.log.Info("hermes can't run on the host; a plain shell does instead", "host", p.config.Host, "reason", err)
	}
	l, err := p.plainly(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, false, err
	}
	return l, false, nil
}

// start has the engine run on the host. Where the binary isn't there it is brought; where it can't be run it is brought elsewhere.
func (p *place) start(ctx context.Context, conn *connection, search *found) (*resident.Place, error) {
	prog, err := search.wait(ctx)
	if err != nil {
		return nil, err
	}
	brought := false
	for {
		r, f := p.greet(ctx, conn, prog)
		if f == nil {
			return r, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f.code == codeMissing && !brought:
			if prog, err = p.other(f, prog); err != nil {
				return nil, err
			}
			brought = true
			if err = conn.carry(ctx, prog, p.from); err == nil {
				continue
			}
		case f.code == codeNoExec || f.code == codeNotFound || f.code == codeMissing:
			err = f
		default:
			return nil, f
		}
		if p.from+1 >= len(cellars) {
			return nil, fmt.Errorf("no directory there takes the hermes binary and lets it run: %w", err)
		}
		p.log.Warn("hermes can't be run from a directory of the host; another one is tried", "host", p.config.Host, "error", err)
		p.from++
		brought = false
	}
}

// other gives the binary for the host, now that it has said what it is.
func (p *place) other(f *failedGreeting, prog brought.Program) (brought.Program, error) {
	m, ok := brought.Told(f.lastLine())
	if !ok {
		return prog, fmt.Errorf("the host doesn't say what machine it is, but %q", f.lastLine())
	}
	p.machine = &m
	return p.finder.Program(m)
}

// failedGreeting is an engine that doesn't answer.
type failedGreeting struct {
	code int // -1 = not known
	said string
	err  error
}

func (f *failedGreeting) Error() string {
	text := f.err.Error()
	if f.code > 0 {
		text = fmt.Sprintf("hermes can't run there (exit code %d): %s", f.code, text)
	}
	if f.said != "" {
		text += "; it says: " + f.said
	}
	return text
}

func (f *failedGreeting) Unwrap() error { return f.err }

func (f *failedGreeting) lastLine() string {
	return strings.TrimSpace(f.said[strings.LastIndexByte(f.said, '\n')+1:])
}

// greet starts the binary, if it is there, and greets the engine in it.
func (p *place) greet(ctx context.Context, conn *connection, prog brought.Program) (*resident.Place, *failedGreeting) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("hermes on the host did not answer within %v", greetTime))
	defer cancel()
	s, err := conn.start(ctx, launch(prog.Hash, p.from))
	if err != nil {
		return nil, &failedGreeting{code: -1, err: err}
	}
	r, err := resident.Connect(ctx, s, p.about(conn), resident.Options{Settings: resident.Settings{
		Jobs: envs.Owner(p.o.HermesHome), Grace: p.o.KillGrace, Limits: p.o.Limits, ShellInitFiles: p.config.ShellInitFiles,
		ReadsLogin: p.config.AutoSourceBashrc || len(p.config.ShellInitFiles) > 0,
		Environ:    map[string]string{"SHLVL": "1"}, // where it is 0, bash takes itself for a shell that sshd started, and reads ~/.bashrc each time
	}})
	if err == nil {
		return r, nil
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer stop()
	code, _ := s.exit(end) // -1 where it isn't known, which is said
	return nil, &failedGreeting{code, s.said(), causeOf(ctx, err)}
}

// about is what is known of the place from here.
func (p *place) about(conn *connection) environment.Info {
	i := p.base
	i.ID = fmt.Sprintf("%s@%s:%d", conn.last.user, conn.last.host, conn.last.port)
	return i
}
