package docker

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// bare is the docker command: one exec a command, and run -d.
var bare = environment.Bare{
	Client: "the docker command",
	Budgets: map[environment.Measure]float64{
		environment.MeasureEcho: 0.1, environment.MeasureRead: 0.2, environment.MeasureScript: 1.2, environment.MeasureOpen: 1.2, environment.MeasureFlood: 0.5,
	},
	Settings: map[string]string{"docker_persist_across_processes": "false", "container_persistent": "false"},
	Begin:    beginBare,
}

func beginBare(ctx context.Context, o environment.OpenOptions, i environment.Info) (environment.BareClient, error) {
	var none environment.BareClient
	program, err := exec.LookPath("docker")
	if err != nil {
		return none, fmt.Errorf("the bare equivalent is the docker command: %w", err)
	}
	d, err := connect(ctx, o.Getenv)
	if err != nil {
		return none, err
	}
	at := []string{program, "--host", d.at.host}
	if d.at.tls != "" {
		at = append(at, "--tlsverify", "--tlscacert", d.at.tls+"/ca.pem", "--tlscert", d.at.tls+"/cert.pem", "--tlskey", d.at.tls+"/key.pem")
	}
	run := func(ctx context.Context, args ...string) (string, error) {
		all := append(at[:len(at):len(at)], args...)
		out, err := exec.CommandContext(ctx, all[0], all[1:]...).CombinedOutput() //nolint:gosec // the user's own settings
		if err != nil {
			return "", fmt.Errorf("docker %s: %w: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out)), nil
	}
	start := func(ctx context.Context) (func() error, error) {
		id, err := run(ctx, "run", "-d", "--init", configOf(o.Config).Image, "sleep", "1000")
		if err != nil {
			return nil, err
		}
		return func() error { _, err := run(context.WithoutCancel(ctx), "rm", "-f", id); return err }, nil
	}
	return environment.BareClient{
		Argv: append(at, "exec", "-i", i.ID, "sh", "-c"), Open: start, Close: d.Close,
	}, nil
}
