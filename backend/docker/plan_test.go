package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// planOf plans with one change to the defaults.
func planOf(t *testing.T, change func(*Config)) (*plan, error) {
	t.Helper()
	c := defaults()
	change(c)
	return newPlan(planning{config: c, key: "k", home: t.TempDir(), dir: t.TempDir(), local: true, uid: 1000, gid: 1000})
}

func TestShare_IsMountedUnlessTheUserMountsSomethingThere(t *testing.T) { // SYN-1
	for volume, want := range map[string][]string{
		"": {"/root/.hermes/skills", "/root/.hermes/token"}, ":/root/.hermes/skills": {"/root/.hermes/token"}, ":/root/.hermes": nil,
		":/root/.hermes/token": {"/root/.hermes/skills"}, ":/root": {"/root/.hermes/skills", "/root/.hermes/token"},
	} {
		c, host := defaults(), t.TempDir()
		if volume != "" {
			c.Volumes = []string{host + volume}
		}
		p, err := newPlan(planning{config: c, key: "k", home: t.TempDir(), dir: "/", local: true,
			share: []environment.Share{{Host: host, Name: "skills"}, {Host: host, Name: "token"}, {Host: host, Name: "skills/within"}}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range p.host.Mounts {
			if m.Source == host && m.ReadOnly {
				got = append(got, m.Target)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %q: %q are mounted, want %q", volume, got, want)
		}
	}
}

func TestFlags_AreTranslated(t *testing.T) { // DKR-9
	for _, row := range []struct {
		args []string
		ok   func(*plan) bool
	}{
		{[]string{"--memory", "512m"}, func(p *plan) bool { return p.host.Memory == 512<<20 }},
		{[]string{"-m=2g"}, func(p *plan) bool { return p.host.Memory == 2<<30 }},
		{[]string{"--memory-swap", "-1"}, func(p *plan) bool { return p.host.MemorySwap == -1 }},
		{[]string{"--cpus", "1.5"}, func(p *plan) bool { return p.host.NanoCPUs == 15e8 }},
		{[]string{"-e", "A=b=c"}, func(p *plan) bool { return slices.Contains(p.config.Env, "A=b=c") }},
		{[]string{"--read-only"}, func(p *plan) bool { return p.host.ReadonlyRootfs }},
		{[]string{"--read-only=false"}, func(p *plan) bool { return !p.host.ReadonlyRootfs }},
		{[]string{"--init", "--hostname", "h"}, func(p *plan) bool { return *p.host.Init && p.config.Hostname == "h" }},
		{[]string{"--cap-drop", "chown"}, func(p *plan) bool { return !slices.Contains(p.host.CapAdd, "CAP_CHOWN") }},
		{[]string{"--cap-add", "net_bind_service"}, func(p *plan) bool { return slices.Contains(p.host.CapAdd, "CAP_NET_BIND_SERVICE") }},
		{[]string{"--ulimit", "nofile=10:20"}, func(p *plan) bool { return p.host.Ulimits[0].Soft == 10 && p.host.Ulimits[0].Hard == 20 }},
		{[]string{"--tmpfs", "/cache:size=1m"}, func(p *plan) bool { return p.host.Tmpfs["/cache"] == "size=1m" }},
		{[]string{"--gpus", "all"}, func(p *plan) bool { return p.host.DeviceRequests[0].Count == -1 }},
		{[]string{"--dns", "1.1.1.1", "--add-host", "a:1.2.3.4"}, func(p *plan) bool { return p.host.DNS[0].String() == "1.1.1.1" && p.host.ExtraHosts[0] == "a:1.2.3.4" }},
		{[]string{"-p", "8080:80"}, func(p *plan) bool {
			for port, b := range p.host.PortBindings {
				return port.String() == "80/tcp" && b[0].HostPort == "8080" && b[0].HostIP.String() == "127.0.0.1"
			}
			return false
		}},
	} {
		p, err := planOf(t, func(c *Config) { c.ExtraArgs = row.args })
		if err != nil || !row.ok(p) {
			t.Errorf("%v: %v", row.args, err)
		}
	}
}

func TestFlags_ThatAreUnknownOrBadAreNamed(t *testing.T) { // DKR-9
	for _, args := range [][]string{
		{"--rm"}, {"--mount", "type=bind"}, {"image"}, {"--memory", "much"}, {"--memory"}, {"-e", "NAME"}, {"--ulimit", "x"}, {"--gpus", "some"},
		{"-p", "a:b:c:d"}, {"--read-only=maybe"}, {"--dns", "x"}, {"--pids-limit", "x"}, {"--device", "null"}, {"-v", "x"},
	} {
		_, err := planOf(t, func(c *Config) { c.ExtraArgs, c.Unsafe = args, true })
		if !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "docker_extra_args") || !strings.Contains(err.Error(), strings.TrimSuffix(args[0], "=maybe")) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestUnsafe_SettingsNeedConsentAndAreJudgedAsTheHost(t *testing.T) { // DKR-9, CON-8
	for _, args := range [][]string{
		{"--privileged"}, {"--pid", "host"}, {"--network=host"}, {"--ipc", "host"}, {"--uts", "host"}, {"--cap-add", "SYS_ADMIN"}, {"--cap-add", "ALL"},
		{"--device", "/dev/kvm"}, {"-v", "/:/host"}, {"-v", "/x/docker.sock:/s"},
	} {
		makeSocket := func(c *Config) {
			c.ExtraArgs = slices.Clone(args)
			if strings.Contains(args[len(args)-1], "docker.sock") {
				at := filepath.Join(t.TempDir(), "docker.sock")
				if err := os.WriteFile(at, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				c.ExtraArgs[1] = at + ":/s"
			}
		}
		if _, err := planOf(t, makeSocket); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "docker_allow_unsafe") {
			t.Errorf("%v: %v", args, err)
		}
		p, err := planOf(t, func(c *Config) { makeSocket(c); c.Unsafe = true })
		if err != nil || len(p.unsafe) != 1 || !traitsOf(p.host, p.planned()).HostLike {
			t.Errorf("%v: %v", args, err)
		}
	}
	if p, err := planOf(t, func(*Config) {}); err != nil || len(p.unsafe) > 0 || traitsOf(p.host, p.planned()).HostLike {
		t.Errorf("the defaults open the container: %v", err)
	}
}

func TestVolumes_AreTakenApart(t *testing.T) { // DKR-7
	for text, want := range map[string]string{"/a:/b": "/a|/b|", "/a:/b:ro,z": "/a|/b|:ro,z", "name:/b": "name|/b|", "a": "", "/a:b": "", ":/b": "", "": ""} {
		source, target, opts, err := splitVolume(text)
		if got := source + "|" + target + "|" + opts; (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestConfig_BadValuesAreNamed(t *testing.T) { // DKR-8, CFG-1
	for want, change := range map[string]func(*Config){
		"docker_env":         func(c *Config) { c.Env = map[string]any{"A B": "x"} },
		"docker_forward_env": func(c *Config) { c.ForwardEnv = []string{"1"} },
		"docker_image":       func(c *Config) { c.Image = "" },
		"docker_volumes":     func(c *Config) { c.Volumes = []string{"x"} },
		"is a []interface":   func(c *Config) { c.Env = map[string]any{"A": []any{1}} },
		"terminal.resident":  func(c *Config) { c.Resident = "maybe" },
	} {
		if _, err := planOf(t, change); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	p, err := planOf(t, func(c *Config) { c.Env = map[string]any{"N": 3, "F": 1.5, "B": true, "S": "x"} })
	if err != nil || !slices.Equal(p.config.Env, []string{"B=true", "F=1.5", "N=3", "S=x"}) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestEndpoints_InTheirOrder(t *testing.T) { // DKR-1
	dir := t.TempDir()
	id := sha256.Sum256([]byte("far"))
	meta := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(id[:]))
	if err := os.MkdirAll(meta, 0o700); err != nil {
		t.Fatal(err)
	}
	for at, text := range map[string]string{
		filepath.Join(meta, "meta.json"):  `{"Name":"far","Endpoints":{"docker":{"Host":"tcp://far:2376"}}}`,
		filepath.Join(dir, "config.json"): `{"currentContext":"far"}`,
	} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"DOCKER_HOST": "tcp://here:1", "DOCKER_CONFIG": dir}, "tcp://here:1"},
		{map[string]string{"DOCKER_CONFIG": dir}, "tcp://far:2376"},
		{map[string]string{"DOCKER_CONFIG": dir, "DOCKER_CONTEXT": "none"}, "error"},
	} {
		all, err := endpoints(func(n string) string { return row.vars[n] })
		if got := "error"; err == nil {
			if got = all[0].host; got != row.want || len(all) != 1 {
				t.Errorf("%v: %v", row.vars, all)
			}
		} else if row.want != got || !errors.Is(err, environment.ErrConfig) {
			t.Errorf("%v: %v", row.vars, err)
		}
	}
	vars := map[string]string{"DOCKER_HOST": "unix:///nowhere/s.sock"}
	if _, err := connect(t.Context(), func(n string) string { return vars[n] }); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "/nowhere/s.sock") {
		t.Errorf("%v", err)
	}
}

func TestCredentials_AreThoseOfTheRegistry(t *testing.T) { // DKR-2
	for image, want := range map[string]string{"debian": hub, "a/b:1": hub, "localhost/a": "localhost", "ghcr.test/a/b": "ghcr.test", "r:5000/a": "r:5000"} {
		if got := registryOf(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"auths":{"r:5000":{"auth":"dTpw"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(n string) string { return map[string]string{"DOCKER_CONFIG": dir}[n] }
	if a, err := credentials(t.Context(), "r:5000/a", getenv); err != nil || a == "" {
		t.Errorf("%q, %v", a, err)
	}
	if a, err := credentials(t.Context(), "other:1/a", getenv); err != nil || a != "" {
		t.Errorf("%q, %v", a, err)
	}
}

func TestLabels_AreTakenByEveryDaemon(t *testing.T) { // DKR-4
	for text, want := range map[string]string{"": "unknown", "a/b c": "a_b_c", strings.Repeat("x", 80): strings.Repeat("x", 63)} {
		if got := labelText(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
