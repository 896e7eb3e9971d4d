package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
)

// helperTime is how long a program that keeps credentials may take.
const helperTime = 10 * time.Second

// fetch is an image that is wanted.
type fetch struct {
	image  string
	limit  time.Duration
	getenv func(string) string
	show   io.Writer // progress for a person; nil = none
}

// image gives what the daemon knows of an image, which is fetched if it isn't there.
func (d *daemon) image(ctx context.Context, f fetch) (client.ImageInspectResult, error) {
	i, err := d.ImageInspect(ctx, f.image)
	if err == nil || !errdefs.IsNotFound(err) {
		return i, err
	}
	if err := d.pull(ctx, f); err != nil {
		return i, &environment.Error{Kind: environment.ErrUnavailable, Op: "fetch the image " + f.image, Err: err}
	}
	return d.ImageInspect(ctx, f.image)
}

func (d *daemon) pull(ctx context.Context, f fetch) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("it took longer than terminal.pull_timeout (%v)", f.limit))
	defer cancel()
	auth, err := credentials(ctx, f.image, f.getenv)
	if err != nil {
		return err
	}
	f.say("fetching the image %s\n", f.image)
	r, err := d.ImagePull(ctx, f.image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return causeOf(ctx, err)
	}
	defer r.Close()
	last := time.Now()
	for m, err := range r.JSONMessages(ctx) {
		switch {
		case err != nil:
			return causeOf(ctx, err)
		case m.Error != nil:
			return m.Error
		}
		if m.Progress != nil && m.Progress.Total > 0 && time.Since(last) > time.Second {
			last = time.Now()
			f.say("%s %s: %d of %d MB\n", m.ID, strings.ToLower(m.Status), m.Progress.Current>>20, m.Progress.Total>>20)
		}
	}
	f.say("fetched\n")
	return nil
}

func (f fetch) say(format string, args ...any) {
	if f.show != nil {
		fmt.Fprintf(f.show, format, args...)
	}
}

// causeOf prefers the reason of a context that has ended to what came of it.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// hub is how the docker command calls its own registry in its configuration.
const hub = "https://index." + hubName + "/v1/"

const hubName = "docker.io"

// registryOf gives the registry that an image comes from.
func registryOf(image string) string {
	first, _, ok := strings.Cut(image, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" || first == hubName || first == "index."+hubName {
		return hub
	}
	return first
}

// credentials are what the docker command would send to the registry of an image, "" for none.
func credentials(ctx context.Context, image string, getenv func(string) string) (string, error) {
	text, err := os.ReadFile(filepath.Join(configDir(getenv), "config.json"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	var c struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			IdentityToken string `json:"identitytoken"`
		} `json:"auths"`
		CredsStore  string            `json:"credsStore"`
		CredHelpers map[string]string `json:"credHelpers"`
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return "", fmt.Errorf("read the credentials of the docker command: %w", err)
	}
	server := registryOf(image)
	if helper := orElse(c.CredHelpers[server], c.CredsStore); helper != "" {
		return fromHelper(ctx, helper, server)
	}
	a, ok := c.Auths[server]
	if !ok {
		a, ok = c.Auths["https://"+server]
	}
	if !ok || a.Auth == "" && a.IdentityToken == "" {
		return "", nil
	}
	plain, err := base64.StdEncoding.DecodeString(a.Auth)
	if err != nil {
		return "", fmt.Errorf("the credentials for %s in the docker command's configuration can't be decoded", server)
	}
	user, password, _ := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
	return authconfig.Encode(registry.AuthConfig{Username: user, Password: password, IdentityToken: a.IdentityToken, ServerAddress: server})
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// fromHelper asks a program of the docker command's family. What it says on failure isn't passed on: it may hold what it keeps.
func fromHelper(ctx context.Context, helper, server string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get") //nolint:gosec // named by the user's own configuration
	cmd.Stdin = strings.NewReader(server)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		if strings.Contains(out.String(), "credentials not found") { // its protocol's word for: none
			return "", nil
		}
		return "", fmt.Errorf("ask docker-credential-%s for the credentials of %s: %w", helper, server, err)
	}
	var a struct{ Username, Secret string }
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return "", fmt.Errorf("what docker-credential-%s answers is not understood", helper)
	}
	if a.Username == "<token>" {
		return authconfig.Encode(registry.AuthConfig{IdentityToken: a.Secret, ServerAddress: server})
	}
	return authconfig.Encode(registry.AuthConfig{Username: a.Username, Password: a.Secret, ServerAddress: server})
}
