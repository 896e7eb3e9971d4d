package ssh

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"
)

// askTime bounds the ssh program when it is asked for its configuration: a Match block may run commands.
const askTime = 10 * time.Second

// directives are what is known of one host, by lower-case keyword; a keyword that may stand more than once has several values. It is
// what `ssh -G` prints.
type directives map[string][]string

func (d directives) first(key string) string {
	if v := d[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// list gives values that stand side by side on lines.
func (d directives) list(key string) []string {
	var out []string
	for _, v := range d[key] {
		out = append(out, words(v)...)
	}
	return out
}

// wanted names a host as somebody asks for it.
type wanted struct {
	host string
	user string // "" = as configured
	port int    // 0 = as configured
}

// settings is how a host is reached.
type settings struct {
	alias, host, user string
	port              int
	hostKeyAlias      string
	keys, certs       []string // files
	only              bool     // keys of the agent that aren't named by files are left alone
	agent             string   // address; "" = none
	jump, proxy       string
	known             []string // files, the first one is written to
	readOnlyKnown     []string
	algorithms        []string // of host keys, in order; nil = all
	strict            bool     // unknown hosts are refused
	hash              bool     // names of hosts are written hashed
	alive             time.Duration
	aliveCount        int
	connect           time.Duration
}

// Defaults where the ssh configuration says nothing.
const (
	usualPort       = 22
	usualConnect    = 10 * time.Second
	usualAlive      = 15 * time.Second
	usualAliveCount = 3
)

// source gives the directives for hosts: from the ssh program where there is one, else from the files.
type source struct {
	file   string // instead of the user's and the system's; "" = those
	getenv func(string) string
	own    bool // read the files even where there is an ssh program
}

func (s source) directives(ctx context.Context, w wanted) (directives, error) {
	if err := validHost(w.host); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("ssh")
	if s.own || err != nil {
		return readFiles(s, w)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	args := []string{"-G"}
	if s.file != "" {
		args = append(args, "-F", s.file)
	}
	if w.user != "" {
		args = append(args, "-l", w.user)
	}
	if w.port != 0 {
		args = append(args, "-p", strconv.Itoa(w.port))
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--", w.host)...) //nolint:gosec // the host was looked at
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ask ssh for its configuration of %s: %w: %s", w.host, err, bytes.TrimSpace(errs.Bytes()))
	}
	d := directives{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), " ")
		d[key] = append(d[key], value)
	}
	return d, nil
}

// settle makes settings of directives.
func (s source) settle(d directives, w wanted) (*settings, error) {
	me := ""
	if u, err := user.Current(); err == nil {
		me = u.Username
		if i := strings.LastIndexByte(me, '\\'); i >= 0 {
			me = me[i+1:]
		}
	}
	t := &settings{
		alias: w.host, host: cmp.Or(d.first("hostname"), w.host), user: cmp.Or(w.user, d.first("user"), me), hostKeyAlias: d.first("hostkeyalias"),
		only: yes(d.first("identitiesonly")), jump: noneIsEmpty(d.first("proxyjump")), proxy: noneIsEmpty(d.first("proxycommand")),
		strict: yes(d.first("stricthostkeychecking")), hash: yes(d.first("hashknownhosts")),
	}
	var err error
	if t.port, err = number(cmp.Or(strconv.Itoa(w.port), "0"), d.first("port"), usualPort); err != nil {
		return nil, fmt.Errorf("port of %s: %w", w.host, err)
	}
	if t.alive, err = seconds(d.first("serveraliveinterval"), usualAlive); err != nil {
		return nil, fmt.Errorf("ServerAliveInterval of %s: %w", w.host, err)
	}
	if t.connect, err = seconds(d.first("connecttimeout"), usualConnect); err != nil {
		return nil, fmt.Errorf("ConnectTimeout of %s: %w", w.host, err)
	}
	if t.aliveCount, err = number("0", d.first("serveralivecountmax"), usualAliveCount); err != nil {
		return nil, fmt.Errorf("ServerAliveCountMax of %s: %w", w.host, err)
	}
	x := expander{settings: t, getenv: s.getenv, me: me}
	t.host = strings.ToLower(x.host(t.host))
	t.hostKeyAlias = x.tokens(t.hostKeyAlias)
	t.keys, t.certs = x.files(d["identityfile"]), x.files(d["certificatefile"])
	t.known, t.readOnlyKnown = x.files(d.list("userknownhostsfile")), x.files(d.list("globalknownhostsfile"))
	t.agent = x.agent(d.first("identityagent"))
	if a := d.first("hostkeyalgorithms"); a != "" {
		t.algorithms = algorithms(a)
	}
	return t, nil
}

func yes(v string) bool { return strings.EqualFold(v, "yes") || strings.EqualFold(v, "true") }

func noneIsEmpty(v string) string {
	if strings.EqualFold(v, "none") {
		return ""
	}
	return v
}

// number is the first of the values that is set, as a positive number.
func number(asked, configured string, usual int) (int, error) {
	for _, v := range []string{asked, configured} {
		if v == "" || v == "0" {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is no number", v)
		}
		return n, nil
	}
	return usual, nil
}

// seconds reads a time as OpenSSH writes it: seconds, or numbers with a unit.
func seconds(v string, usual time.Duration) (time.Duration, error) {
	if v == "" || v == "0" || strings.EqualFold(v, "none") {
		return usual, nil
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	var sum time.Duration
	for rest := strings.ToLower(v); rest != ""; {
		i := 0
		for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
			i++
		}
		n, err := strconv.Atoi(rest[:i])
		if err != nil || n > 1<<20 {
			return 0, fmt.Errorf("%q is no time", v)
		}
		unit := time.Second
		if rest = rest[i:]; rest != "" {
			if unit = units[rest[0]]; unit == 0 {
				return 0, fmt.Errorf("%q is no time", v)
			}
			rest = rest[1:]
		}
		sum += time.Duration(n) * unit
	}
	return sum, nil
}

// resolve tells how a host is reached.
func (s source) resolve(ctx context.Context, w wanted) (*settings, error) {
	d, err := s.directives(ctx, w)
	if err != nil {
		return nil, err
	}
	return s.settle(d, w)
}

// maxHops bounds a chain of jump hosts, which may be configured to go round in circles.
const maxHops = 8

// route gives the hosts on the way to w, w last. Each is configured by itself; a host that is named in somebody's ProxyJump behind
// another is reached through that one, whatever its own says.
func (s source) route(ctx context.Context, w wanted) ([]*settings, error) {
	last, err := s.resolve(ctx, w)
	if err != nil {
		return nil, err
	}
	chain := []*settings{last}
	for chain[0].jump != "" {
		if len(chain) > maxHops {
			return nil, fmt.Errorf("the way to %s goes over more than %d jump hosts: ProxyJump goes round in circles", w.host, maxHops)
		}
		var hops []*settings
		for i, spec := range strings.Split(chain[0].jump, ",") {
			j, err := parseJump(strings.TrimSpace(spec))
			if err != nil {
				return nil, fmt.Errorf("ProxyJump of %s: %w", chain[0].alias, err)
			}
			hop, err := s.resolve(ctx, j)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				hop.jump, hop.proxy = "", ""
			}
			hops = append(hops, hop)
		}
		chain[0].jump, chain[0].proxy = "", ""
		chain = append(hops, chain...)
	}
	return chain, nil
}

// parseJump reads [user@]host[:port], with or without ssh:// before it.
func parseJump(spec string) (wanted, error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(spec, name+"://"), "/")
	var w wanted
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		w.user, rest = rest[:i], rest[i+1:]
	}
	port := ""
	switch {
	case strings.HasPrefix(rest, "["):
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return w, fmt.Errorf("%q is no host", spec)
		}
		w.host, port = rest[1:end], strings.TrimPrefix(rest[end+1:], ":")
	case strings.Count(rest, ":") == 1:
		w.host, port, _ = strings.Cut(rest, ":")
	default:
		w.host = rest
	}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return w, fmt.Errorf("%q is no port", port)
		}
		w.port = n
	}
	if err := validHost(w.host); err != nil {
		return w, err
	}
	if strings.HasPrefix(w.user, "-") {
		return w, errors.New("a user's name doesn't begin with -")
	}
	return w, nil
}

func homeDir() string {
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		return u.HomeDir // as OpenSSH does, whatever HOME says
	}
	h, _ := os.UserHomeDir()
	return h
}
