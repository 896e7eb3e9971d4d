//go:build linux

package docker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
)

func TestContainer_IsHardened(t *testing.T) { // DKR-3, DKR-4
	l := newLab(t)
	l.config.CPU, l.config.MemoryMB, l.o.Key = 0.5, 256, "a b/ü"
	e := l.open(t)
	c := l.inspect(t, e.Info().ID)
	h := c.HostConfig
	wantAdd := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"}
	if slices.Sort(h.CapAdd); !slices.Equal(h.CapAdd, wantAdd) || !slices.Equal(h.CapDrop, []string{"ALL"}) {
		t.Errorf("capabilities: %v less %v", h.CapAdd, h.CapDrop)
	}
	if !slices.Equal(h.SecurityOpt, []string{"no-new-privileges"}) || h.Privileged || *h.PidsLimit != 256 || h.NanoCPUs != 5e8 || h.Memory != 256<<20 || !*h.Init {
		t.Errorf("%+v", h)
	}
	for at, opts := range map[string]string{"/tmp": "nosuid size=512m exec", "/var/tmp": "noexec nosuid size=256m", "/run": "noexec nosuid size=64m"} {
		for o := range strings.FieldsSeq(opts) {
			if !slices.Contains(strings.Split(h.Tmpfs[at], ","), o) {
				t.Errorf("%s: %q lacks %s", at, h.Tmpfs[at], o)
			}
		}
	}
	labels := c.Config.Labels
	if labels["hermes-agent"] != "1" || labels["hermes-task-id"] != "a_b__" || labels["hermes-profile"] != "unknown" || labels["hermes-config"] == "" || !strings.HasPrefix(c.Name, "/hermes-") || len(c.Name) != len("/hermes-12345678") {
		t.Errorf("%s %v", c.Name, labels)
	}
	out := run(t, e, `grep -E 'CapEff|NoNewPrivs' /proc/self/status; mount | grep -E ' on /(tmp|run) '; : >/tmp/x && chmod +x /tmp/x && /tmp/x && echo executes`)
	if !strings.Contains(out, "NoNewPrivs:\t1") || !strings.Contains(out, "CapEff:\t00000000000000eb") || !strings.Contains(out, "executes") {
		t.Errorf("inside: %s", out)
	}
}

func TestContainer_WithoutNetworkHasNone(t *testing.T) { // DKR-3, CON-8
	l := newLab(t)
	l.config.Network = false
	e := l.open(t)
	if e.Info().Traits.Network || l.inspect(t, e.Info().ID).HostConfig.NetworkMode != "none" {
		t.Errorf("%+v", e.Info().Traits)
	}
	if out := run(t, e, "ls /sys/class/net"); out != "lo\n" {
		t.Errorf("%q", out)
	}
}

func TestFiles_AreKeptBelowTheSandboxesOrInMemory(t *testing.T) { // DKR-7, CON-8
	l := newLab(t)
	e := l.open(t)
	base := filepath.Join(l.o.HermesHome, "sandboxes", "docker", "test")
	run(t, e, "echo 1 >/root/a; echo 2 >/workspace/b")
	for name, want := range map[string]string{"home/a": "1\n", "workspace/b": "2\n"} {
		if b, err := os.ReadFile(filepath.Join(base, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	want := []environment.Mount{{Host: filepath.Join(base, "home"), Inside: "/root", Writable: true, Own: true}, {Host: filepath.Join(base, "workspace"), Inside: "/workspace", Writable: true, Own: true}}
	got := e.Info().Traits
	slices.SortFunc(got.Mounts, func(a, b environment.Mount) int { return strings.Compare(string(a.Inside), string(b.Inside)) })
	if !slices.Equal(got.Mounts, want) || got.HostLike || got.Privileged || !got.Network || len(got.Sockets) > 0 {
		t.Errorf("%+v", got)
	}
	l.config.Files, l.o.Key = false, "memory"
	m := l.open(t)
	if out := run(t, m, "mount | grep -cE '^tmpfs on /(root|workspace|home) '; echo x >/root/a"); out != "3\n" || len(m.Info().Traits.Mounts) > 0 {
		t.Errorf("%q, %+v", out, m.Info().Traits)
	}
	if _, err := m.Files().Stat(t.Context(), "/root/a"); err != nil { // what lives in memory is seen by file operations
		t.Error(err)
	}
}

func TestVolumes_FollowTheRules(t *testing.T) { // DKR-7
	l := newLab(t)
	dir := t.TempDir()
	missing := filepath.Join(dir, "none")
	l.config.MountCwd, l.o.Dir = true, dir
	l.config.Volumes = []string{dir + ":/data:ro", missing + ":/none"}
	e := l.open(t)
	if out := run(t, e, "echo 1 >/workspace/f; cat /data/f; echo 2 2>/dev/null >/data/f || echo refused; [ -e /none ] || echo absent"); out != "1\nrefused\nabsent\n" {
		t.Errorf("%q", out)
	}
	if _, err := os.Stat(missing); err == nil || !strings.Contains(strings.Join(e.Info().Notes, "\n"), missing) {
		t.Errorf("%v, %v", err, e.Info().Notes)
	}
	other := t.TempDir()
	l.config.Volumes = []string{other + ":/workspace"}
	e = l.open(t)
	run(t, e, "echo 3 >/workspace/g")
	if b, err := os.ReadFile(filepath.Join(other, "g")); err != nil || string(b) != "3\n" {
		t.Errorf("the user's volume does not win: %q, %v", b, err)
	}
}

func TestUser_OfTheHostOwnsWhatIsWritten(t *testing.T) { // DKR-8
	l := newLab(t)
	l.config.AsHostUser = true
	e := l.open(t)
	c := l.inspect(t, e.Info().ID)
	if slices.Contains(c.HostConfig.CapAdd, "CAP_SETUID") || c.Config.User != "0:0" && os.Getuid() == 0 {
		t.Errorf("%v, user %q", c.HostConfig.CapAdd, c.Config.User)
	}
	if e.Info().Home != "/root" {
		t.Errorf("home %q", e.Info().Home)
	}
	l.config.AsHostUser, l.config.ExtraArgs, l.config.Files = false, []string{"--user", "1234:1234"}, false
	e = l.open(t)
	if out := run(t, e, "id -u"); out != "1234\n" {
		t.Errorf("%q", out)
	}
}

func TestFilesystem_ThatIsReadOnlyWorks(t *testing.T) {
	l := newLab(t)
	l.config.ExtraArgs = []string{"--read-only"}
	e := l.open(t)
	if out := run(t, e, "echo 1 >/f || echo refused; echo 2 >/tmp/f; cat /tmp/f"); !strings.Contains(out, "refused\n2\n") {
		t.Errorf("%q", out)
	}
	if _, err := e.Files().Replace(t.Context(), "/f", strings.NewReader("x"), environment.ReplaceOptions{}); err == nil {
		t.Error("a file was written there")
	}
}

func TestProcesses_ThatRunOutSpoilNoLaterCommand(t *testing.T) { // DKR-3, DKR-10
	l := newLab(t)
	e := l.open(t)
	res, err := e.Run(context.Background(), environment.Command{
		Script: "i=0; while [ $i -lt 400 ]; do sleep 4242 & i=$((i+1)); done; wait; while :; do sleep 4242 & done", Timeout: 3 * time.Second, Grace: 50 * time.Millisecond,
	})
	if err != nil { // what is named as not gone yet has had its KILL
		t.Errorf("%+v, %v", res, err)
	}
	l.gone(t, e.Info().ID, "4242")
	if out := run(t, e, "echo ok"); out != "ok\n" {
		t.Errorf("%q", out)
	}
}

func TestTemp_ThatIsFullSpoilsNoCommand(t *testing.T) { // DKR-3
	l := newLab(t)
	l.config.ExtraArgs = []string{"--tmpfs", "/tmp:rw,exec,size=1m"}
	e := l.open(t)
	st := environment.NewState("/root")
	var out bytes.Buffer
	for _, script := range []string{"head -c 2000000 /dev/zero >/tmp/full; export A=1; mkdir -p d; cd d", "echo $A; pwd; cat"} {
		out.Reset()
		if _, err := e.Run(context.Background(), environment.Command{Script: script, State: st, Output: &out, Stdin: strings.NewReader("in\n")}); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "1\n/root/d\nin\n" {
		t.Errorf("%q", out.String())
	}
	if _, err := e.Files().Replace(t.Context(), "/tmp/f", strings.NewReader("x"), environment.ReplaceOptions{}); err == nil {
		t.Error("a file was written where there is no room")
	}
}

const planted = "planted-secret-of-the-host"

func TestSecrets_AreNowhereButInTheCommand(t *testing.T) { // DKR-8, RES-5, ENG-12
	l := newLab(t)
	l.vars["FROM_VARS"] = planted + "-3"
	l.o.Environ = func() []string {
		return []string{"OPENAI_API_KEY=" + planted, "FORWARDED=" + planted + "-1", "EMPTY_HERE=", "OVER=live"}
	}
	l.o.Secrets = func() map[string]string { return map[string]string{"EMPTY_HERE": planted + "-2", "FORWARDED": "stale"} }
	l.config.ForwardEnv = []string{"FORWARDED", "EMPTY_HERE", "FROM_VARS", "NOWHERE", "OVER"}
	l.config.Env = map[string]any{"OVER": "created", "NUMBER": 3, "YES": true}
	e := l.open(t)
	id := e.Info().ID
	st := environment.NewState("/root")
	var out bytes.Buffer
	_, err := e.Run(context.Background(), environment.Command{State: st, Output: &out,
		Script: `echo "$FORWARDED,$EMPTY_HERE,$FROM_VARS,${NOWHERE-absent},$OVER,$NUMBER,$YES,${OPENAI_API_KEY-absent}"`})
	want := planted + "-1," + planted + "-2," + planted + "-3,absent,live,3,true,absent\n"
	if err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
	if n := len(st.Snapshot().Vars); n > 0 {
		t.Errorf("carried: %v", st.Snapshot().Vars)
	}
	vars, err := e.(environment.Environer).Environ(t.Context(), nil)
	if err != nil || vars["FORWARDED"] != planted+"-1" {
		t.Errorf("%v, %v", vars, err)
	}
	up := newStarted()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, environment.Command{Script: "echo up; sleep 60", Output: up})
	}()
	<-up.up
	defer func() { cancel(); <-done }()
	places := map[string]string{"arguments": l.processes(t, id)}
	raw, err := l.api.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	places["inspect"] = string(raw.Raw)
	logs, err := l.api.ContainerLogs(t.Context(), id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(logs)
	logs.Close()
	places["logs"] = string(text)
	l.config.ForwardEnv = nil // another place on the same container, which is given nothing
	other := l.open(t)
	if other.Info().ID != id {
		t.Fatalf("another container: %s", other.Info().ID)
	}
	places["first process"] = run(t, other, "tr '\\0' '\\n' </proc/1/environ; for p in /proc/[0-9]*; do case $(tr '\\0' ' ' <$p/cmdline) in *resident*) tr '\\0' '\\n' <$p/environ;; esac; done")
	places["files"] = run(t, other, "grep -rl planted-secret /root /workspace /tmp /etc /run /var 2>/dev/null")
	for where, text := range places {
		if strings.Contains(text, planted) || where == "files" && text != "" {
			t.Errorf("%s: %s", where, text)
		}
	}
}

func TestTraits_OfAnOpenContainerAreSaid(t *testing.T) { // CON-8, DKR-9
	l := newLab(t)
	socket := strings.TrimPrefix(l.d.Host, "unix://")
	l.config.Volumes = []string{socket + ":/var/run/docker.sock"}
	b, _ := environment.Lookup("docker")
	if tr := b.Traits(&l.config); filepath.Base(socket) == "docker.sock" && !tr.HostLike {
		t.Errorf("%+v", tr)
	}
	l.config.Volumes, l.config.ExtraArgs = nil, []string{"--privileged"}
	if _, err := l.try(t.Context()); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "docker_allow_unsafe") {
		t.Fatalf("%v", err)
	}
	l.config.Unsafe = true
	if tr := b.Traits(&l.config); !tr.HostLike || !tr.Privileged {
		t.Errorf("planned: %+v", tr)
	}
	if lines := strings.Join(b.Probe(t.Context(), environment.OpenOptions{Config: &l.config}), "\n"); !strings.Contains(lines, "--privileged") && !strings.Contains(lines, "reach") {
		t.Errorf("%s", lines)
	}
	l.config.ExtraArgs = []string{"--uts", "host"}
	e := l.open(t)
	if tr := e.Info().Traits; !tr.HostLike || tr.Privileged {
		t.Errorf("as started: %+v", tr)
	}
}

func TestImage_ThatCantBeFetchedIsNamed(t *testing.T) { // DKR-2
	l := newLab(t)
	l.config.Image = "127.0.0.1:1/none:latest"
	var said bytes.Buffer
	l.o.Stderr = &said
	_, err := l.try(t.Context())
	if !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), l.config.Image) || !strings.Contains(said.String(), "fetching") {
		t.Errorf("%v; said %q", err, said.String())
	}
	if n := len(l.containers(t)); n > 0 {
		t.Errorf("%d containers", n)
	}
	l.config.Image, l.config.PullTimeout = "127.0.0.1:1/other:latest", time.Nanosecond
	if _, err := l.try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "pull_timeout") {
		t.Errorf("%v", err)
	}
}
