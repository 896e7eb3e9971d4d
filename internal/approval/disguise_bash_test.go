//go:build linux || darwin

package approval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// proven are commands that bash runs in disguise, with what has to be found in them. Their programs are stubs that write down what they
// were called with; their arguments would do no harm in an empty directory even to the real ones.
var proven = []struct{ command, id string }{
	{"rm -rf build", "delete.recursive"},
	{"rm -r -f ./out dist", "delete.recursive"},
	{"shred -u notes.txt", "delete.content"},
	{"mkfs.ext4 disk.img", "disk.format"},
	{"git push --force origin main", "git.force"},
	{"git reset --hard", "git.discard"},
	{"git clean -fd", "git.clean"},
	{"git branch -D old", "git.history"},
	{"chmod 777 run.sh", "perm.world"},
	{"chmod u+s tool", "perm.setuid"},
	{"systemctl stop nginx", "service.stop"},
	{"pkill -9 node", "proc.broad"},
	{"docker rm -f web", "container.remove"},
	{"kubectl delete pod web", "cluster.delete"},
	{"terraform destroy", "infra.destroy"},
	{"aws s3 rb s3://bucket", "cloud.delete"},
	{"apt-get remove nginx", "package.remove"},
	{"modprobe -r nvidia", "kernel.change"},
	{"userdel bob", "account.change"},
	{"crontab -r", "cron.change"},
	{"iptables -F", "net.change"},
	{"dropdb app", "sql.admin"},
	{"rsync -a --delete src/ dst/", "delete.sync"},
}

// tools are the real programs that disguises need. None of them destroys anything with what a disguise calls it with.
var tools = []string{"bash", "cat", "base64", "tr", "rev", "xxd", "env", "nice", "nohup", "setsid", "timeout", "xargs"}

// stage is a directory with stubs, the tools and a place to work in.
type stage struct{ bin, work, log, bash string }

func newStage(t *testing.T) stage {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	dir := t.TempDir()
	s := stage{bin: filepath.Join(dir, "bin"), work: filepath.Join(dir, "work"), log: filepath.Join(dir, "log"), bash: bash}
	for _, d := range []string{s.bin, s.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// One stub serves all: it writes its name and arguments on one line, each in brackets.
	stub := "#!" + bash + "\nprintf '[%s]' \"${0##*/}\" \"$@\" >> '" + s.log + "'\nprintf '\\n' >> '" + s.log + "'\n"
	for _, p := range proven {
		name, _ := program(p.command)
		if err := os.WriteFile(filepath.Join(s.bin, name), []byte(stub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range tools {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(s.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// fit tells whether a text may be run here: whatever it runs comes from the stage's own directory, and whatever it writes stays there.
// The absolute paths below are the only ones that a disguise uses; the texts are those of this test and nothing else's.
func fit(text string) bool {
	for _, harmless := range []string{"/dev/stdin", "s3://bucket", "./out", "src/", "dst/", "/@@/", "@@/"} {
		text = strings.ReplaceAll(text, harmless, "")
	}
	for _, no := range []string{"/", "command -p", "env -i", "PATH", "kill -", "~"} {
		if strings.Contains(text, no) && !(no == "kill -" && strings.Contains(text, "pkill -")) {
			return false
		}
	}
	return true
}

// run has bash run a text with nothing in reach but the stage, and gives what the stubs wrote down.
func (s stage) run(ctx context.Context, text string) (string, error) {
	if err := os.WriteFile(s.log, nil, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.bash, "--norc", "--noprofile", "-c", "ulimit -t 5 -f 64; eval \"$1\"", "bash", text)
	cmd.Dir, cmd.Env = s.work, []string{"PATH=" + s.bin, "HOME=" + s.work}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // how it ends is of no interest: what ran is
	log, err := os.ReadFile(s.log)
	return string(log), err
}

func called(command string) string {
	return "[" + strings.Join(strings.Split(command, " "), "][") + "]"
}

// Done-when 2, by bash itself: a disguise that reaches the program with the same arguments has to be seen through; one that doesn't is not
// asked for.
func TestDisguise_WhatBashReachesIsFound(t *testing.T) {
	type try struct{ command, id, way, text string }
	var tries []try
	r := rand.New(rand.NewPCG(7, 8))
	for _, p := range proven {
		ways := disguises(p.command)
		if !*everyDisguise {
			r.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
			ways = ways[:min(len(ways), minDisguises)]
		}
		for _, d := range ways {
			if text := d.of(p.command, r); fit(text) {
				tries = append(tries, try{p.command, p.id, d.name, text})
			}
		}
	}
	var (
		mu      sync.Mutex
		reached int
		bad     failures
		wg      sync.WaitGroup
		work    = make(chan try)
	)
	for range runtime.GOMAXPROCS(0) {
		s := newStage(t)
		wg.Go(func() {
			for c := range work {
				log, err := s.run(t.Context(), c.text)
				got := ids(judge(c.text))
				mu.Lock()
				ran := strings.Contains(log, called(c.command)+"\n")
				reached += count(ran)
				switch {
				case err != nil:
					bad.add("%s: %q: %v", c.way, c.text, err)
				case ran && !slices.Contains(got, c.id):
					bad.add("%s: bash runs %q, found %v, want %s", c.way, c.text, got, c.id)
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range tries {
		work <- c
	}
	close(work)
	wg.Wait()
	bad.report(t, len(tries))
	t.Logf("%d disguises, %d of them run by bash", len(tries), reached)
	if reached < len(tries)*9/10 {
		t.Errorf("bash reached the program in %d of %d disguises: the disguises are broken", reached, len(tries))
	}
}

// Done-when 2: what holds a command as data doesn't run it, says bash, and isn't asked about.
func TestDisguise_DataIsNotRunByBash(t *testing.T) {
	s, r := newStage(t), rand.New(rand.NewPCG(9, 10))
	ran := ""
	for i, p := range proven {
		ways := asData()
		for n := range 3 {
			text := ways[(i*3+n)%len(ways)].of(p.command, r)
			if !fit(text) {
				continue
			}
			log, err := s.run(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(log, called(p.command)) {
				ran += fmt.Sprintf("%q\n", text)
			}
			if got := ids(judge(text)); len(got) > 0 {
				t.Errorf("%q: %v", text, got)
			}
		}
	}
	if ran != "" {
		t.Errorf("bash runs what was to be data:\n%s", ran)
	}
}
