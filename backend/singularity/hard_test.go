//go:build linux

package singularity_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/backend/singularity/apptainertest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

func TestCommand_IsRunAsItsManualSays(t *testing.T) { // SNG-1
	l := newLab(t)
	l.config.CPU, l.config.MemoryMB, l.config.Network = 0.5, 256, false
	e := l.open(t)
	var begun, entered []string
	for _, c := range l.a.Calls(t) {
		switch {
		case slices.Equal(c.Argv[:min(2, len(c.Argv))], []string{"instance", "start"}):
			begun = c.Argv
		case c.Argv[0] == "exec":
			entered = c.Argv
		}
	}
	text := strings.Join(begun, " ") + " "
	for _, want := range []string{
		"--containall --no-home ", " --overlay " + l.o.HermesHome + "/sandboxes/singularity/hermes-overlays/overlay-test-", " --bind " + l.config.ResidentPath + ":/.hermes/resident:ro ",
		" --memory 256M ", " --cpus 0.5 ", " --net --network none ", ".sif " + e.Info().ID + " ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if text = strings.Join(entered, " "); !strings.Contains(text, "exec --cleanenv --pwd / ") || !strings.Contains(text, " instance://"+e.Info().ID+" /bin/sh -c ") {
		t.Errorf("%q", text)
	}
	name := e.Info().ID
	if digits, ok := strings.CutPrefix(name, "hermes_"); !ok || len(digits) != 12 || strings.Trim(digits, "0123456789abcdef") != "" {
		t.Errorf("it is called %q", name)
	}
	if tr := e.Info().Traits; tr.Network || tr.Privileged || tr.HostLike != (os.Geteuid() == 0) || len(tr.Mounts) > 0 {
		t.Errorf("%+v", tr)
	}
	if out := run(t, e, "ls /sys/class/net; grep -E NoNewPrivs /proc/self/status"); out != "lo\nNoNewPrivs:\t1\n" {
		t.Errorf("%q", out)
	}
	if caps := strings.TrimSpace(run(t, e, "grep CapEff /proc/self/status")); os.Geteuid() == 0 && caps != "CapEff:\t00000000000000eb" {
		t.Errorf("%s", caps)
	}
}

// What the user of the command has set must neither open an instance nor get into it, and credentials reach the command only while it
// fetches an image.
func TestVariables_OfThisMachineStayHere(t *testing.T) { // RES-5, ENG-12, LOC-1
	for _, mode := range []string{"auto", "off"} {
		t.Run("resident "+mode, func(t *testing.T) {
			l := newLab(t)
			l.config.Resident = mode
			open := t.TempDir()
			for n, v := range map[string]string{
				"APPTAINER_BIND": open + ":/opened", "APPTAINERENV_INSIDE": "s3cret-a", "OPENAI_API_KEY": "s3cret-b", "APPTAINER_DOCKER_PASSWORD": "s3cret-pull", "LET": "s3cret-let",
			} {
				l.vars[n] = v
			}
			l.o.Environ = func() (all []string) {
				for n, v := range l.vars {
					all = append(all, n+"="+v)
				}
				return all
			}
			l.o.Passthrough = []string{"LET"}
			e := l.open(t)
			out := run(t, e, "env; ls -d /opened; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n' | grep -v LET=")
			if strings.Contains(strings.ReplaceAll(out, "LET=s3cret-let", ""), "s3cret") || strings.Contains(out, "\n/opened") || !strings.Contains(out, "LET=s3cret-let") {
				t.Errorf("inside: %s", out)
			}
			pulled := false
			for _, c := range l.a.Calls(t) {
				all := strings.Join(append(c.Argv, c.Env...), "\n")
				if c.Argv[0] == "build" {
					pulled = strings.Contains(all, "s3cret-pull")
					all = strings.ReplaceAll(all, "s3cret-pull", "")
				}
				if strings.Contains(all, "s3cret") || strings.Contains(all, "APPTAINER_BIND") {
					t.Errorf("the command is run with %q", all)
				}
			}
			if !pulled {
				t.Error("an image is fetched without the credentials for it")
			}
		})
	}
}

func TestBounds_ThatTheMachineDoesNotGrantAreLeftOutAndSaid(t *testing.T) { // SNG-1
	l := newLab(t)
	l.a.Behave(t, apptainertest.Behaviour{NoBounds: true})
	e := l.open(t)
	if out := run(t, e, "echo on"); out != "on\n" || !strings.Contains(strings.Join(e.Info().Notes, "\n"), "container_memory are not kept") {
		t.Errorf("%q, %q", out, e.Info().Notes)
	}
}

func TestImage_IsFetchedOnce(t *testing.T) { // SNG-2
	l := newLab(t)
	var work sync.WaitGroup
	places := make([]environment.Environment, 4)
	for i := range places {
		other := *l
		other.o.Key = string(rune('a' + i))
		work.Go(func() {
			var err error
			if places[i], err = other.try(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	builds := 0
	for _, c := range l.a.Calls(t) {
		if c.Argv[0] == "build" {
			builds++
		}
	}
	dir := filepath.Join(l.o.HermesHome, "sandboxes", "singularity", "images")
	files, _ := filepath.Glob(filepath.Join(dir, "*.sif*"))
	whole := slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".lock") })
	if builds != 1 || len(whole) != 1 || !strings.HasPrefix(whole[0], filepath.Join(dir, "hermes-test_bash-")) {
		t.Errorf("%d builds, %q", builds, whole)
	}
	for _, e := range places {
		if e != nil {
			shut(t, e)
		}
	}
}

func TestImage_ThatCannotBeKeptIsFetchedForTheInstance(t *testing.T) { // SNG-2
	l := newLab(t)
	l.a.Behave(t, apptainertest.Behaviour{NoBuild: true})
	if out := run(t, l.open(t), "echo on"); out != "on\n" {
		t.Errorf("%q", out)
	}
}

func TestFailures_SayWhatIsWrongAndLeaveNothing(t *testing.T) { // CON-2, CON-7, MGR-4
	l := newLab(t)
	text := filepath.Join(l.o.HermesHome, "text.sif")
	if err := os.WriteFile(text, []byte("no image"), 0o600); err != nil {
		t.Fatal(err)
	}
	oddly := filepath.Join(l.o.HermesHome, "hermes:rw")
	if err := os.Symlink(l.config.ResidentPath, oddly); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		set  func(l *lab)
		kind error
		says string
	}{
		"no command":       {func(l *lab) { l.vars["PATH"] = "/nowhere" }, environment.ErrUnavailable, "neither is on PATH"},
		"no image":         {func(l *lab) { l.config.Image = "docker://hermes-test/none" }, environment.ErrUnavailable, "manifest unknown"},
		"no file":          {func(l *lab) { l.config.Image = "/none.sif" }, environment.ErrConfig, "terminal.singularity_image"},
		"no image in it":   {func(l *lab) { l.config.Image = text }, environment.ErrUnavailable, "not recognized"},
		"a flag":           {func(l *lab) { l.config.Image = "--writable" }, environment.ErrConfig, "is no image"},
		"an instance":      {func(l *lab) { l.config.Image = "instance://other" }, environment.ErrConfig, "is no image"},
		"mode":             {func(l *lab) { l.config.Resident = "maybe" }, environment.ErrConfig, "terminal.resident"},
		"scratch":          {func(l *lab) { l.config.Scratch = "/a,b" }, environment.ErrConfig, "terminal.scratch_dir"},
		"home":             {func(l *lab) { l.o.HermesHome = filepath.Join(l.o.HermesHome, "a:b") }, environment.ErrConfig, "a:b"},
		"sandboxes":        {func(l *lab) { l.config.SandboxDir = "/a\nb" }, environment.ErrConfig, "terminal.scratch_dir"},
		"binary's name":    {func(l *lab) { l.config.ResidentPath = oddly }, environment.ErrConfig, "terminal.resident_path"},
		"a task's image":   {func(l *lab) { l.o.Overrides = map[string]string{"singularity_image": "--writable"} }, environment.ErrConfig, "is no image"},
		"binary":           {func(l *lab) { l.config.ResidentPath = "/none" }, environment.ErrConfig, "terminal.resident_path"},
		"required, no way": {func(l *lab) { l.config.ResidentPath, l.config.Resident = "/bin/false", "require" }, environment.ErrUnavailable, "hermes_"},
		"no start":         {func(l *lab) { l.a.Behave(t, apptainertest.Behaviour{NoStart: true}) }, environment.ErrUnavailable, "permission denied"},
		"no list":          {func(l *lab) { l.a.Behave(t, apptainertest.Behaviour{Deaf: true}) }, environment.ErrUnavailable, "instance list"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := *l
			bad.vars = map[string]string{}
			for n, v := range l.vars {
				bad.vars[n] = v
			}
			bad.o.Getenv = func(n string) string { return bad.vars[n] }
			row.set(&bad)
			defer l.a.Behave(t, apptainertest.Behaviour{})
			e, err := bad.try(t.Context())
			if err == nil {
				shut(t, e)
			}
			if !errors.Is(err, row.kind) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, want %v with %q", err, row.kind, row.says)
			}
			if n := len(l.a.Running()); n > 0 {
				t.Errorf("%d instances are left", n)
			}
		})
	}
	if out := run(t, l.open(t), "echo on"); out != "on\n" {
		t.Errorf("afterwards: %q", out)
	}
}

func TestBinary_ThatCannotRunThereLeavesAPlainShell(t *testing.T) { // RES-7
	l := newLab(t)
	l.config.ResidentPath = "/bin/false"
	e := l.open(t)
	if out := run(t, e, "echo on"); out != "on\n" || e.Info().Lacking["search"] == "" {
		t.Errorf("%q, %v", out, e.Info().Lacking)
	}
}

func TestConfiguration_ThatChangedIsMetByAnotherInstance(t *testing.T) { // SNG-2: settings that a user changes reach what is there
	l := newLab(t)
	e := l.anew(t)
	run(t, e, "echo x >~/f")
	other := *l
	other.config.Network = false
	if _, err := other.try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "another hermes") {
		t.Errorf("while it is in use: %v", err)
	}
	shut(t, e)
	if out := run(t, other.open(t), "cat ~/f; ls /sys/class/net"); out != "x\nlo\n" {
		t.Errorf("%q", out)
	}
}

func TestDisk_ThatIsFullIsSaid(t *testing.T) { // LOG-7, JOB-3
	l := newLab(t)
	l.config.Files = false // the files are in memory, which is small
	envtest.FullDisk(t, l.open(t))
}

func TestShare_IsBoundForReadingAndIsNoMountThatHarmGoesThrough(t *testing.T) { // SYN-1, CON-8
	l := newLab(t)
	dir := filepath.Join(l.o.HermesHome, "skills")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("a skill"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.o.Share = []environment.Share{{Host: dir, Name: "skills"}, {Host: filepath.Join(dir, "SKILL.md"), Name: "odd:name"}}
	e := l.open(t)
	out := run(t, e, "cat ~/.hermes/skills/SKILL.md; { echo x >~/.hermes/skills/SKILL.md; } 2>&1; echo mine >~/.hermes/new && cat ~/.hermes/new")
	if !strings.HasPrefix(out, "a skill") || !strings.Contains(out, "Read-only file system") || !strings.HasSuffix(out, "mine\n") {
		t.Errorf("%q", out)
	}
	i := e.Info()
	if p, ok := i.Shown(filepath.Join(dir, "SKILL.md")); !ok || p != environment.SharedPath(i.Home, "skills/SKILL.md") || len(i.Shows) != 1 || len(i.Traits.Mounts) > 0 {
		t.Errorf("%q, %+v, %+v", p, i.Shows, i.Traits)
	}
}

func TestImage_WithHardlyAnythingInItWorks(t *testing.T) { // ENG-1, ENG-21, RMT-1: no bash, no /tmp, no home, no list of users
	l := newLab(t)
	l.config.Image, l.config.Files = l.a.Provide(t, apptainertest.Bare), false
	e := l.open(t)
	i := e.Info()
	if out := run(t, e, "echo x >~/f && cat ~/f; echo y >"+string(i.Temp)+"/f"); out != "x\n" || i.Lacking["bash"] == "" {
		t.Errorf("%q, %+v", out, i)
	}
	if m, err := e.(environment.Searcher).Search(t.Context(), environment.Query{Pattern: "x", Root: i.Home}); err != nil || m.Total != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestDoctor_SaysWhatThereIs(t *testing.T) { // CHK, RES-8
	l := newLab(t)
	b, _ := environment.Lookup("singularity")
	said := strings.Join(b.Probe(t.Context(), l.options()), "\n")
	for _, want := range []string{"version " + apptainertest.Version, "is not there yet", "hermes-overlays", "hermes runs in instances"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	l.config.Resident = "off"
	if said := strings.Join(b.Probe(t.Context(), l.options()), "\n"); !strings.Contains(said, "terminal.resident is off") {
		t.Errorf("%q", said)
	}
	if err := b.Check(t.Context(), l.options()); err != nil {
		t.Error(err)
	}
	l.vars["PATH"] = "/nowhere"
	if err := b.Check(t.Context(), l.options()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "apptainer") {
		t.Errorf("%v", err)
	}
}
