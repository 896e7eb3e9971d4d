package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// dialer makes connections.
type dialer struct {
	source source
	want   wanted
	key    string // tried before all others; "" = none
	ask    asker
	log    *slog.Logger
}

// connection is a way to a host, with the hosts that lie between.
type connection struct {
	*ssh.Client
	last  *settings
	below []io.Closer // what it runs over, outermost first
	work  sync.WaitGroup
	over  chan struct{}
	once  sync.Once
}

// dial connects to the host, over the jump hosts that its configuration names.
func (d *dialer) dial(ctx context.Context) (*connection, error) {
	route, err := d.source.route(ctx, d.want)
	if err != nil {
		return nil, err
	}
	last := route[len(route)-1]
	if d.key != "" {
		x := expander{settings: last, getenv: d.source.getenv}
		last.keys = append([]string{x.file(d.key)}, last.keys...)
	}
	c := &connection{last: last, over: make(chan struct{})}
	for i, t := range route {
		if err := d.hop(ctx, c, t); err != nil {
			c.hangUp()
			if i < len(route)-1 {
				err = fmt.Errorf("jump host %s: %w", t.alias, err)
			}
			return nil, err
		}
	}
	c.work.Go(func() { _ = c.Client.Wait(); c.once.Do(func() { close(c.over) }) })
	c.work.Go(c.keepAlive)
	return c, nil
}

// hop goes one host further.
func (d *dialer) hop(ctx context.Context, c *connection, t *settings) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(t.connect, func() { cancel(fmt.Errorf("no answer within %v", t.connect)) })
	defer timer.Stop()
	conn, err := d.transport(ctx, c, t)
	if err != nil {
		return fmt.Errorf("connect to %s port %d: %w", t.host, t.port, causeOf(ctx, err))
	}
	client, err := d.greet(ctx, conn, &login{t: t, ask: patient(d.ask, timer, t.connect)})
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("log in to %s@%s port %d: %w", t.user, t.host, t.port, causeOf(ctx, err))
	}
	if c.Client != nil {
		c.below = append([]io.Closer{c.Client}, c.below...)
	}
	c.Client = client
	return nil
}

// askLimit is how long a person may take to answer: hosts don't wait longer than two minutes either, as OpenSSH sets them up.
const askLimit = 2 * time.Minute

// patient asks as ask does. Meanwhile the time of a host to answer stands still.
func patient(ask asker, timer *time.Timer, limit time.Duration) asker {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, what string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		timer.Stop()
		defer timer.Reset(limit)
		return ask(ctx, what)
	}
}

// transport gives a stream of bytes to a host: over the one before, a program, or the network.
func (d *dialer) transport(ctx context.Context, c *connection, t *settings) (net.Conn, error) {
	address := net.JoinHostPort(t.host, strconv.Itoa(t.port))
	switch {
	case c.Client != nil:
		return c.Client.DialContext(ctx, "tcp", address)
	case t.proxy != "":
		return startProxy(expander{settings: t, getenv: d.source.getenv}.tokens(t.proxy), address)
	}
	var n net.Dialer
	conn, err := n.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return hurry(conn), nil
}

// greet settles keys and logs in. The end of ctx ends it.
func (d *dialer) greet(ctx context.Context, conn net.Conn, l *login) (*ssh.Client, error) {
	t := l.t
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	v := t.verifier(func(what string, err error) { d.log.Warn(what, "host", t.host, "error", err) })
	order, err := v.order()
	if err != nil {
		return nil, err
	}
	defer l.close()
	var refused error
	client, channels, requests, err := ssh.NewClientConn(conn, net.JoinHostPort(t.host, strconv.Itoa(t.port)), &ssh.ClientConfig{
		User: t.user, HostKeyAlgorithms: order, ClientVersion: "SSH-2.0-hermes",
		HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
			refused = v.check(host, remote, key)
			return refused
		},
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return l.signers(ctx), nil })},
	})
	switch {
	case err == nil:
		return ssh.NewClient(client, channels, requests), nil
	case refused != nil:
		return nil, refused
	case len(l.notes) > 0:
		return nil, fmt.Errorf("%w (%s)", err, strings.Join(l.notes, "; "))
	}
	return nil, err
}

// causeOf prefers the reason of a context that has ended to what came of it.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// keepAlive asks the host for a sign of life, and hangs up when it has given none for some time.
func (c *connection) keepAlive() {
	tick := time.NewTicker(c.last.alive)
	defer tick.Stop()
	answers := make(chan struct{}, 1)
	waiting, missed := false, 0
	for {
		select {
		case <-c.over:
			return
		case <-answers:
			waiting, missed = false, 0
		case <-tick.C:
			if waiting {
				if missed++; missed >= c.last.aliveCount {
					c.hangUp()
					return
				}
				continue
			}
			waiting = true
			c.work.Go(func() { // ends with its answer, or with the connection
				if _, _, err := c.SendRequest("keepalive@openssh.com", true, nil); err == nil {
					answers <- struct{}{}
				}
			})
		}
	}
}

// lost reports whether the connection is over.
func (c *connection) lost() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// hangUp ends the connection and what it runs over.
func (c *connection) hangUp() {
	if c.Client != nil {
		_ = c.Client.Close()
	}
	for _, b := range c.below {
		_ = b.Close()
	}
}

// Close hangs up and waits for all that the connection started.
func (c *connection) Close() error {
	c.hangUp()
	c.work.Wait()
	return nil
}

// proxy is a program whose input and output lead to a host.
type proxy struct {
	io.ReadCloser
	io.WriteCloser
	cmd  *exec.Cmd
	to   proxyAddr
	once sync.Once
}

type proxyAddr string

func (proxyAddr) Network() string  { return "tcp" }
func (a proxyAddr) String() string { return string(a) }

// startProxy starts the program that ProxyCommand names.
func startProxy(line, address string) (net.Conn, error) {
	cmd := exec.Command("sh", "-c", "exec "+line) //nolint:gosec // the user's own configuration
	if runtime.GOOS == "windows" {
		cmd = exec.Command("cmd", "/c", line) //nolint:gosec // the same
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ProxyCommand: %w", err)
	}
	return &proxy{ReadCloser: out, WriteCloser: in, cmd: cmd, to: proxyAddr(address)}, nil
}

// Close ends the program.
func (p *proxy) Close() error {
	p.once.Do(func() {
		_ = p.WriteCloser.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return nil
}

func (p *proxy) LocalAddr() net.Addr  { return p.to }
func (p *proxy) RemoteAddr() net.Addr { return p.to }

// Deadlines aren't needed: whoever gives up closes.
func (*proxy) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (*proxy) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (*proxy) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }
