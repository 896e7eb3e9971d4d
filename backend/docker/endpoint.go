package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
)

// answerTime is how long a daemon may take to say that it is there.
const answerTime = 5 * time.Second

// endpoint is where a daemon listens.
type endpoint struct {
	host string // as in DOCKER_HOST
	from string // who says so, for messages
	tls  string // directory of certificates; "" = none
}

// local reports whether the daemon's files are probably this machine's, so that they can be mounted.
func (e endpoint) local() bool {
	return strings.HasPrefix(e.host, "unix://") || strings.HasPrefix(e.host, "npipe://")
}

// endpoints gives where a daemon may listen, the likeliest first. What the user names is the only one.
func endpoints(getenv func(string) string) ([]endpoint, error) {
	if h := getenv("DOCKER_HOST"); h != "" {
		e := endpoint{host: h, from: "DOCKER_HOST"}
		if getenv("DOCKER_TLS_VERIFY") != "" {
			e.tls = getenv("DOCKER_CERT_PATH")
			if e.tls == "" {
				e.tls = configDir(getenv)
			}
		}
		return []endpoint{e}, nil
	}
	if e, ok, err := contextEndpoint(getenv); err != nil || ok {
		return []endpoint{e}, err
	}
	return sockets(getenv), nil
}

func configDir(getenv func(string) string) string {
	if d := getenv("DOCKER_CONFIG"); d != "" {
		return d
	}
	return filepath.Join(homeDir(getenv), ".docker")
}

func homeDir(getenv func(string) string) string {
	if h := getenv("HOME"); h != "" {
		return h
	}
	h, _ := os.UserHomeDir() // "" makes a relative path that isn't there
	return h
}

// contextEndpoint reads the current context of the docker command, if one is chosen.
func contextEndpoint(getenv func(string) string) (endpoint, bool, error) {
	dir, current := configDir(getenv), getenv("DOCKER_CONTEXT")
	if current == "" {
		var c struct {
			CurrentContext string `json:"currentContext"`
		}
		if text, err := os.ReadFile(filepath.Join(dir, "config.json")); err == nil {
			_ = json.Unmarshal(text, &c) // a broken one is reported where credentials are read from it
		}
		current = c.CurrentContext
	}
	if current == "" || current == "default" {
		return endpoint{}, false, nil
	}
	id := sha256.Sum256([]byte(current)) // the command names its directories so
	at := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(id[:]), "meta.json")
	text, err := os.ReadFile(at)
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	host := meta.Endpoints[name].Host
	if err == nil && host == "" {
		err = errors.New("it names no address")
	}
	if err != nil {
		return endpoint{}, false, &environment.Error{Kind: environment.ErrConfig, Op: fmt.Sprintf("read the docker context %q", current), Err: err}
	}
	e := endpoint{host: host, from: "the docker context " + current}
	if tls := filepath.Join(dir, "contexts", "tls", hex.EncodeToString(id[:]), name); isDir(tls) {
		e.tls = tls
	}
	return e, true, nil
}

func isDir(p string) bool { i, err := os.Stat(p); return err == nil && i.IsDir() }

// sockets are the usual ones that are there.
func sockets(getenv func(string) string) []endpoint {
	if runtime.GOOS == "windows" {
		return []endpoint{{host: client.DefaultDockerHost, from: "the usual pipe"}}
	}
	run := getenv("XDG_RUNTIME_DIR")
	if run == "" {
		run = fmt.Sprintf("/run/user/%d", os.Getuid())
	}
	home := homeDir(getenv)
	engine := []string{
		"/var/run/docker.sock", filepath.Join(run, "docker.sock"), filepath.Join(home, ".docker/run/docker.sock"),
		filepath.Join(home, ".docker/desktop/docker.sock"), filepath.Join(home, ".colima/default/docker.sock"), filepath.Join(home, ".orbstack/run/docker.sock"),
	}
	podman := []string{filepath.Join(run, "podman/podman.sock"), "/run/podman/podman.sock"}
	order := append(engine, podman...)
	if filepath.Base(getenv("HERMES_DOCKER_BINARY")) == "podman" {
		order = append(podman, engine...)
	}
	var found []endpoint
	for _, p := range order {
		if _, err := os.Stat(p); err == nil {
			found = append(found, endpoint{host: "unix://" + p, from: "the usual sockets"})
		}
	}
	if len(found) == 0 {
		found = append(found, endpoint{host: "unix://" + order[0], from: "the usual sockets"})
	}
	return found
}

// daemon is a container engine that answers.
type daemon struct {
	*client.Client
	at endpoint
}

// connect finds a daemon that answers within answerTime.
func connect(ctx context.Context, getenv func(string) string) (*daemon, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	all, err := endpoints(getenv)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var failed []error
	for _, e := range all {
		d, err := dial(ctx, e)
		if err == nil {
			return d, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func dial(ctx context.Context, e endpoint) (*daemon, error) {
	op := fmt.Sprintf("reach a container engine at %s (from %s)", e.host, e.from)
	if strings.HasPrefix(e.host, "ssh://") {
		return nil, &environment.Error{Kind: environment.ErrConfig, Op: op, Err: errors.New(
			"addresses with ssh:// can't be used; forward its socket (ssh -L /tmp/docker.sock:/var/run/docker.sock HOST) and set DOCKER_HOST=unix:///tmp/docker.sock")}
	}
	opts := []client.Opt{client.WithHost(e.host), client.WithUserAgent("hermes"), client.WithAPIVersionFromEnv()}
	if e.tls != "" {
		opts = append(opts, client.WithTLSClientConfig(filepath.Join(e.tls, "ca.pem"), filepath.Join(e.tls, "cert.pem"), filepath.Join(e.tls, "key.pem")))
	}
	c, err := client.New(opts...)
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrConfig, Op: op, Err: err}
	}
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		_ = c.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", answerTime)
		}
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: fmt.Errorf(
			"%w; start it, or set DOCKER_HOST to where it listens, or terminal.backend to another place", err)}
	}
	return &daemon{c, e}, nil
}
