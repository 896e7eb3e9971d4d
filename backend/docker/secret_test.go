//go:build linux

package docker_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
)

// credentials are what the host of a test holds: variables, and files below the home that is HERMES_HOME too.
var (
	credentials = []string{
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "TELEGRAM_BOT_TOKEN", "MODAL_TOKEN_SECRET",
		"DAYTONA_API_KEY", "VERCEL_TOKEN", "SUDO_PASSWORD", "NPM_TOKEN", "HF_TOKEN", "DATABASE_URL",
	}
	secretFiles = map[string]string{
		".env":                    "OPENROUTER_API_KEY=SECRET\nCUSTOM_TOKEN=SECRET\n",
		".docker/config.json":     `{"auths":{"registry.example":{"auth":"SECRET","identitytoken":"SECRET"}}}`,
		".ssh/id_ed25519":         "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRET\n",
		".netrc":                  "machine example.org login me password SECRET\n",
		".aws/credentials":        "[default]\naws_secret_access_key = SECRET\n",
		".config/gh/hosts.yml":    "github.com:\n  oauth_token: SECRET\n",
		"auth/mcp-tokens.json":    `{"token":"SECRET"}`,
		"credentials/google.json": `{"private_key":"SECRET"}`,
	}
)

// sought prints where a text stands in a container: in variables and arguments of processes, and in files. The text comes in two parts, so
// that whoever looks doesn't find themself.
const sought = `t=$1$2; for p in /proc/[0-9]*; do for f in environ cmdline; do grep -q "$t" $p/$f 2>/dev/null && echo "$p/$f: $(tr '\0' ' ' <$p/cmdline)"; done; done
for d in /* /.[!.]*; do case $d in /proc|/sys|/dev) ;; *) find $d -type f -exec grep -l "$t" {} + 2>/dev/null;; esac; done; true`

// traces gives where a text stands in a container and in what the engine knows of it.
func (l *lab) traces(t *testing.T, id, text string) string {
	t.Helper()
	e, err := l.api.ExecCreate(t.Context(), id, client.ExecCreateOptions{Cmd: []string{"/bin/sh", "-c", sought, "sh", text[:6], text[6:]}, AttachStdout: true, AttachStderr: true, User: "0"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.api.ExecAttach(t.Context(), e.ID, client.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var found bytes.Buffer
	if _, err := stdcopy.StdCopy(&found, &found, a.Reader); err != nil {
		t.Fatal(err)
	}
	raw, err := l.api.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	logs, err := l.api.ContainerLogs(t.Context(), id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	printed, _ := io.ReadAll(logs)
	for where, said := range map[string]string{"inspect": string(raw.Raw), "logs": string(printed), "arguments": l.processes(t, id)} {
		if strings.Contains(said, text) {
			fmt.Fprintf(&found, "%s: %s\n", where, said)
		}
	}
	return found.String()
}

func TestSecrets_OfTheHostAreNowhereInAContainer(t *testing.T) { // RES-5, LOC-1, DKR-8
	for _, mode := range []string{"auto", "off"} {
		t.Run("resident "+mode, func(t *testing.T) {
			l := newLab(t)
			secret := "planted-" + mode + "-credential"
			vars := []string{"TERMINAL_RESIDENT=" + mode}
			for _, n := range credentials {
				vars = append(vars, n+"="+secret)
			}
			for name, text := range secretFiles {
				file := filepath.Join(l.o.HermesHome, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "SECRET", secret)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct{ tool, args string }{
				{"terminal", `{"command":"env; export KEPT=1; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"}`},
				{"terminal", `{"command":"env; sleep 4242","background":true}`},
				{"terminal", `{"command":"env; sleep 4242","background":true,"pty":true}`},
				{"write_file", `{"path":"/root/f","content":"x\n"}`},
				{"search_files", `{"pattern":"x","path":"/root"}`},
			} {
				if said := fmt.Sprint(l.hermes(t, vars, c.tool, c.args)); strings.Contains(said, secret) {
					t.Errorf("%s: %s", c.tool, said)
				}
			}
			id := l.containers(t)[0].ID
			if found := l.traces(t, id, secret); found != "" {
				t.Errorf("it stands in\n%s", found)
			}
			l.hermes(t, vars, "terminal", `{"command":"printf planted- >/root/here; printf `+mode+`-credential >>/root/here"}`) // what there is would be found
			if found := l.traces(t, id, secret); found != "/root/here\n" {
				t.Errorf("found %q", found)
			}
		})
	}
}

func TestSecrets_ThatAreForwardedStandInNoFile(t *testing.T) { // DKR-8, ENG-12, LOG-2
	l := newLab(t)
	secret := "planted-forwarded-credential"
	l.vars["FORWARDED"] = secret
	l.config.ForwardEnv = []string{"FORWARDED"}
	e := l.open(t)
	p := start(t, e, environment.Job{Command: script(`[ -n "$FORWARDED" ] && echo has it; unset FORWARDED; exec sleep 4242`)})
	eventually(t, func() string {
		if i := infoOf(t, p); i.Preview != "has it\n" {
			return i.Preview
		}
		return ""
	})
	if found := l.traces(t, e.Info().ID, secret); found != "" {
		t.Errorf("it stands in\n%s", found)
	}
}
