package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
)

// A host full of credentials runs all kinds of work in all kinds of places, and everything that the work can reach is searched for them:
// variables, arguments, files, logs. One value that the user lets through is found, and so is one that a command writes down itself.

func init() { after = dockertest.Done }

// letThrough is the variable that the user's configuration lets through.
const letThrough = "LET_THROUGH"

// held are variables of the host that no command gets. tools are those that programs of its user live by: a command on the host itself
// has them, one elsewhere and a script have not.
var (
	held = []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY",
		"HF_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "GH_TOKEN", "GITHUB_TOKEN", "GITHUB_APP_PRIVATE_KEY", "TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN",
		"SLACK_BOT_TOKEN", "TWILIO_AUTH_TOKEN", "EMAIL_PASSWORD", "TAVILY_API_KEY", "FAL_KEY", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "DAYTONA_API_KEY",
		"VERCEL_TOKEN", "VERCEL_OIDC_TOKEN", "HERMES_API_KEY", "HERMES_SERVER_KEY", "HERMES_GATEWAY_TOKEN", "WEBHOOK_SECRET", "SUDO_PASSWORD",
	}
	tools = []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET", "NPM_TOKEN", "PGPASSWORD",
		"KUBE_AUTH", "SSH_AUTH_SOCK", "DOCKER_AUTH_CONFIG", "MY_SERVICE_SECRET",
	}
)

// files are what its home holds, which is HERMES_HOME too. NAME stands for a value of that name.
var files = map[string]string{
	".env":                    "OPENROUTER_API_KEY=NAME-env-file\nCUSTOM_TOKEN=NAME-env-token\nDB_PASSWORD=NAME-env-password\n",
	"config.yaml":             "terminal:\n  sudo_password: NAME-config-yaml\n  env_passthrough: [" + letThrough + "]\n  docker_forward_env: [" + letThrough + "]\n",
	".ssh/id_rsa":             "-----BEGIN OPENSSH PRIVATE KEY-----\nNAME-ssh-key\n",
	".docker/config.json":     `{"auths":{"registry.example":{"auth":"NAME-docker-auth","identitytoken":"NAME-docker-token"}}}`,
	".netrc":                  "machine example.org login me password NAME-netrc\n",
	".aws/credentials":        "[default]\naws_secret_access_key = NAME-aws\n",
	".config/gh/hosts.yml":    "github.com:\n  oauth_token: NAME-gh\n",
	"auth/mcp-tokens.json":    `{"token":"NAME-mcp"}`,
	"credentials/google.json": `{"private_key":"NAME-google"}`,
}

// host is one that holds them.
type host struct {
	t     *testing.T
	word  string // begins all values
	home  string
	vars  []string
	place place
}

// place is where its commands run.
type place struct {
	vars  []string // how hermes gets there
	there string   // a directory of the commands, as they name it
	here  string   // the same as it is seen from here
	local bool     // its commands have what the user's own programs have
	// seen gives the directories there as they are seen from here, and what else is told of the place.
	seen func() (roots []string, told string)
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, word: fmt.Sprintf("plnt%xq", time.Now().UnixNano()), home: t.TempDir()}
	for name, text := range files {
		file := filepath.Join(h.home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "NAME-", h.word+"-")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Concat(held, tools, []string{letThrough}) {
		h.vars = append(h.vars, name+"="+h.word+"-"+name)
	}
	return h
}

// call makes one call of a tool, as hermes on this host.
func (h *host) call(tool string, args map[string]any) *exec.Cmd {
	h.t.Helper()
	file, err := build()
	if err != nil {
		h.t.Fatalf("build: %v\n%s", err, file)
	}
	text, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	c := exec.Command(file, "tools", "call", tool, string(text))
	c.Dir = h.place.here
	c.Env = slices.Concat([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + h.home, "HERMES_HOME=" + h.home, "HERMES_YOLO_MODE=1"}, h.vars, h.place.vars)
	return c
}

// done makes a call that must succeed.
func (h *host) done(tool string, args map[string]any) string {
	h.t.Helper()
	out, err := h.call(tool, args).CombinedOutput()
	if err != nil {
		h.t.Errorf("%s %v: %v: %s", tool, args, err, out)
	}
	return string(out)
}

// traces are the names of the values that are found, by where: in variables and arguments of processes, of which one is left out, and in
// files.
func (h *host) traces(but int) map[string][]string {
	h.t.Helper()
	found := map[string][]string{}
	value := regexp.MustCompile(h.word + `-([A-Za-z_-]+)`)
	add := func(where string, text []byte) {
		for _, m := range value.FindAllSubmatch(text, -1) {
			if !slices.Contains(found[where], string(m[1])) {
				found[where] = append(found[where], string(m[1]))
			}
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range processes {
		if filepath.Base(p) == strconv.Itoa(but) {
			continue
		}
		for _, what := range []string{"environ", "cmdline"} {
			text, _ := os.ReadFile(filepath.Join(p, what)) // it may be gone
			add(what, text)
		}
	}
	roots, told := h.place.seen()
	add("told", []byte(told))
	for _, root := range append([]string{h.home}, roots...) {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, p)
			switch {
			case err != nil: // it may be gone
			case d.IsDir() && slices.Contains([]string{"proc", "sys", "dev"}, name):
				return fs.SkipDir
			case d.Type().IsRegular() && (root != h.home || files[name] == ""):
				text, _ := os.ReadFile(p)
				add(p, text)
			}
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

// works are the kinds of work. Each says by a file that it goes on, and goes on until there is another; the names of the variables in
// which a value of the host stands are in a third.
var works = []struct {
	name, tool string
	args       map[string]any
	script     string
}{
	{"foreground", "terminal", nil, shell},
	{argument, "terminal", nil, `sh -c '` + shell + `:' sh "$` + letThrough + `"`},
	{bare, "terminal", nil, `unset ` + letThrough + `; exec sh -c '` + shell + `:'`},
	{"background", "terminal", map[string]any{"background": true}, shell},
	{"terminal", "terminal", map[string]any{"background": true, "pty": true}, shell},
	{"script", "execute_code", nil, `
import os, time
from hermes_tools import terminal
os.chdir("DIR")
open("names-TAG", "w").write("".join(sorted(k + "\n" for k, v in os.environ.items() if "WO" "RD" in v)))
terminal("cd DIR; touch up-TAG; while ! [ -e go-TAG ]; do sleep 0.02; done")
`},
}

// In the one work the value that is let through stands in an argument, in the other none of its processes has it.
const (
	argument = "argument"
	bare     = "bare"
)

const shell = `cd DIR; env | grep "WO""RD" | cut -d= -f1 | sort >names-TAG; sh -c "touch up-TAG; while ! [ -e go-TAG ]; do sleep 0.02; done"; `

// fill puts a directory, a tag and the planted word, in two halves, into a text.
func (h *host) fill(text, tag string) string {
	half := len(h.word) / 2
	return strings.NewReplacer("DIR", h.place.there, "TAG", tag, `"WO""RD"`, `"`+h.word[:half]+`""`+h.word[half:]+`"`,
		`"WO" "RD"`, `"`+h.word[:half]+`" "`+h.word[half:]+`"`).Replace(text)
}

func TestSecrets_OfTheHostAreNowhereWhereCommandsRun(t *testing.T) { // RES-5, LOC-1, LOC-2, ENG-12, DKR-8, SSH-4, XO-1
	for name, open := range map[string]func(t *testing.T, h *host) place{"local": here, "docker": container, "ssh": far} {
		for _, mode := range []string{"auto", "off"} {
			if name == "local" && mode == "off" {
				continue // the engine is always there
			}
			t.Run(name+", resident "+mode, func(t *testing.T) {
				t.Parallel()
				h := newHost(t)
				h.place = open(t, h)
				h.place.vars = append(h.place.vars, "TERMINAL_RESIDENT="+mode)
				for _, w := range works {
					if w.args["background"] == nil || mode == "auto" { // a plain shell has no jobs
						h.work(w.name, w.tool, w.args, w.script)
					}
				}
				h.filesAreTouched(mode == "auto")
				h.control()
			})
		}
	}
}

// work has one kind of work go on while it is looked for.
func (h *host) work(name, tool string, args map[string]any, script string) {
	h.t.Helper()
	all := map[string]any{"command": h.fill(script, name)}
	if tool == "execute_code" {
		all = map[string]any{"code": h.fill(script, name)}
	}
	maps.Copy(all, args)
	c := h.call(tool, all)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	file := func(what string) string { return filepath.Join(h.place.here, what+"-"+name) }
	until(h.t, time.Minute, "it goes on: "+name, func() bool {
		_, err := os.Stat(file("up"))
		select {
		case end := <-ended:
			ended <- end
			if args["background"] == nil {
				h.t.Fatalf("%s ended: %v: %s", name, end, out.Bytes())
			}
		default:
		}
		return err == nil
	})
	names, err := os.ReadFile(file("names"))
	if err != nil {
		h.t.Fatal(err)
	}
	want := []string{letThrough}
	if name == bare {
		want = nil
	}
	if h.place.local && tool == "terminal" {
		want = slices.Sorted(slices.Values(append(want, tools...)))
	}
	if got := strings.Fields(string(names)); !slices.Equal(got, want) {
		h.t.Errorf("%s has %q, want %q", name, got, want)
	}
	if name == "script" && h.place.local { // its terminal is one like others
		want = slices.Sorted(slices.Values(append(want, tools...)))
	}
	found := h.traces(c.Process.Pid)
	if got := found["environ"]; !slices.Equal(got, want) {
		h.t.Errorf("%s: processes have %q, want %q", name, got, want)
	}
	delete(found, "environ")
	if name == argument {
		if !slices.Equal(found["cmdline"], []string{letThrough}) {
			h.t.Errorf("arguments hold %q: what was put there isn't found, or more is", found["cmdline"])
		}
		delete(found, "cmdline")
	}
	if len(found) > 0 {
		h.t.Errorf("%s: found %q", name, found)
	}
	if err := os.WriteFile(file("go"), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := <-ended; err != nil {
		h.t.Errorf("%s: %v: %s", name, err, out.Bytes())
	}
	if bytes.Contains(out.Bytes(), []byte(h.word+"-")) {
		h.t.Errorf("%s answers %s", name, out.Bytes())
	}
}

// filesAreTouched has the tools for files do their work.
func (h *host) filesAreTouched(searched bool) {
	h.t.Helper()
	f := h.place.there + "/file"
	h.done("write_file", map[string]any{"path": f, "content": "one\n"})
	h.done("patch", map[string]any{"path": f, "old_string": "one", "new_string": "two"})
	out := h.done("read_file", map[string]any{"path": f})
	if searched { // which a plain shell doesn't do
		out += h.done("search_files", map[string]any{"path": h.place.there, "pattern": "tw."})
	}
	if !strings.Contains(out, "two") {
		h.t.Errorf("the tools say %s", out)
	}
	if found := h.traces(0); len(found) > 0 {
		h.t.Errorf("afterwards: found %q", found)
	}
}

// control has a command write down what it was let have, which is found.
func (h *host) control() {
	h.t.Helper()
	h.done("terminal", map[string]any{"command": h.fill(`printf %s "$`+letThrough+`" >DIR/written`, "")})
	found := h.traces(0)
	n := 0
	for where, names := range found {
		if strings.HasSuffix(where, "/written") && slices.Equal(names, []string{letThrough}) {
			n++
		}
	}
	if n == 0 || n < len(found) {
		h.t.Errorf("what was written isn't found, or more is: %q", found)
	}
}

func only(dirs ...string) func() ([]string, string) {
	return func() ([]string, string) { return dirs, "" }
}

// here is the host itself.
func here(t *testing.T, _ *host) place {
	dir, temp := t.TempDir(), t.TempDir()
	return place{vars: []string{"TMPDIR=" + temp}, there: dir, here: dir, seen: only(dir, temp), local: true}
}

// container is one of a container engine.
func container(t *testing.T, h *host) place {
	d := dockertest.Shared(t)
	image := d.Python(t)
	t.Cleanup(func() { d.RemoveOf(t, h.home) })
	dir := filepath.Join(h.home, "sandboxes", "docker", "default", "home", "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return place{
		vars: []string{"TERMINAL_ENV=docker", "DOCKER_HOST=" + d.Host, "TERMINAL_DOCKER_IMAGE=" + image}, there: "/root/work", here: dir,
		seen: func() ([]string, string) { return d.Seen(t, h.home) },
	}
}

// far is another host: the same one by another door, with a home of its own.
func far(t *testing.T, _ *host) place {
	home, temp := t.TempDir(), t.TempDir()
	s := sshtest.Start(t, sshtest.Options{Home: home, Env: []string{"TMPDIR=" + temp}})
	file := filepath.Join(t.TempDir(), "config")
	sshtest.Write(t, file, fmt.Sprintf("Host there\nHostName 127.0.0.1\nPort %d\nIdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s.known\nGlobalKnownHostsFile none\n", s.Port, s.User.File, file))
	return place{vars: []string{"TERMINAL_ENV=ssh", "TERMINAL_SSH_HOST=there", "TERMINAL_SSH_CONFIG=" + file}, there: home, here: home, seen: only(home, temp)}
}
