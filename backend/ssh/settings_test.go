package ssh

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// corpus are configurations that the ssh program and our reader have to understand alike.
var corpus = map[string]string{
	"empty":               "",
	"alias":               "Host there\n HostName real.example\n User someone\n Port 2222\n",
	"first value counts":  "Host there\n Port 2200\nHost *\n Port 2300\n User all\n",
	"patterns":            "Host th?re other*\n User a\nHost !there *\n User b\nHost * !there\n Port 99\n",
	"equals and quotes":   "Host=there\n User = \"some one\"\n HostName=\"real.example\" # said so\n IdentityFile \"~/my keys/id\"\n",
	"keys add up":         "Host there\n IdentityFile ~/.ssh/a\n IdentityFile /b\nHost *\n IdentityFile ~/.ssh/a\n IdentityFile ~/.ssh/c\n CertificateFile ~/.ssh/a-cert.pub\n IdentitiesOnly yes\n",
	"tokens":              "Host there\n HostName %h.example\n User u\n IdentityFile ~/.ssh/%n-%r-%h-%p-%u\n UserKnownHostsFile ~/.ssh/known-%k\n IdentityAgent %d/agent-%r\n HostKeyAlias %n.example\n",
	"variables":           "Host there\n IdentityFile ${HERMES_SSHTEST_DIR}/id\n UserKnownHostsFile ${HERMES_SSHTEST_DIR}/known /also\n",
	"jump":                "Host there\n ProxyJump one,me@two:2200\n ProxyCommand never\n",
	"jump none":           "Host there\n ProxyJump none\nHost *\n ProxyJump one\n",
	"proxy":               "Host there\n ProxyCommand nc -x \"a b\" %h %p # kept\n ProxyJump never\n",
	"known hosts":         "Host there\n UserKnownHostsFile \"~/known a\" /b\n GlobalKnownHostsFile /c /d\n StrictHostKeyChecking yes\n HashKnownHosts yes\n",
	"known hosts, none":   "Host there\n UserKnownHostsFile none\n StrictHostKeyChecking off\n",
	"alive":               "Host there\n ServerAliveInterval 7\n ServerAliveCountMax 2\n ConnectTimeout 1m30s\n",
	"agent":               "Host there\n IdentityAgent none\n",
	"agent by variable":   "Host there\n IdentityAgent $HERMES_SSHTEST_AGENT\n",
	"algorithms":          "Host there\n HostKeyAlgorithms ssh-ed25519,rsa-sha2-512\n",
	"algorithms in front": "Host there\n HostKeyAlgorithms ^rsa-sha2-512\n",
	"algorithms less":     "Host there\n HostKeyAlgorithms -ecdsa*,*-cert-*,sk-*\n",
	"include":             "Include @DIR@/part*\nHost there\n User late\n",
	"include in a host":   "Host elsewhere\n Include @DIR@/part-one\nHost there\n Port 77\n",
	"harmless":            "Host there\n ForwardAgent yes\n Compression yes\n LocalForward 1 a:2\n SendEnv LANG\n LogLevel QUIET\n CanonicalizeHostname no\n",
	"unknown, ignored":    "IgnoreUnknown Odd*\nHost there\n OddThing 1\n User x\n",
	"odd blanks":          "\n\t# comment\n  Host\tthere \n\tUser\t \tx  \n\n",
	"any case":            "host there\n hOSTnAME Real.Example\n PORT 24\n",
}

// SSH-2: where the ssh program isn't there our reader finds what it would say.
func TestReader_FindsWhatTheSSHProgramSays(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("ssh isn't installed")
	}
	dir := t.TempDir()
	t.Setenv("HERMES_SSHTEST_DIR", dir)
	t.Setenv("HERMES_SSHTEST_AGENT", "/agent")
	write(t, filepath.Join(dir, "part-one"), "Host there\n User early\n")
	write(t, filepath.Join(dir, "part-two"), "Host *\n ConnectTimeout 3\n")
	for name, text := range corpus {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			write(t, file, strings.ReplaceAll(text, "@DIR@", dir))
			for _, w := range []wanted{{host: "there"}, {host: "there", user: "given", port: 1234}, {host: "elsewhere"}} {
				s := source{file: file, getenv: os.Getenv}
				said, err := s.resolve(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				s.own = true
				found, err := s.resolve(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				if found.algorithms == nil {
					said.algorithms = nil // the program names what it can do
				}
				drop := func(all []string) (kept []string) { // kinds of keys that only some builds know
					for _, f := range all {
						if !strings.HasSuffix(f, "id_xmss") && !strings.HasSuffix(f, "id_dsa") {
							kept = append(kept, f)
						}
					}
					return kept
				}
				said.keys, found.keys = drop(said.keys), drop(found.keys)
				if d := cmp.Diff(said, found, cmp.AllowUnexported(settings{})); d != "" {
					t.Errorf("%+v: the program (-) and the reader (+) differ:\n%s", w, d)
				}
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// SSH-2: what can't be understood isn't passed over.
func TestReader_RefusesWhatItCantReadWithFileAndLine(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"match":           {"Host a\n User b\nMatch host there\n Port 1\n", "line 3"},
		"unknown":         {"\nHost there\n KnownHostsCommand /bin/x\n", "line 3: knownhostscommand"},
		"unknown to all":  {"ReachItSomehow yes\n", "line 1: reachitsomehow"},
		"canonicalize":    {"CanonicalizeHostname always\n", "canonicalizehostname"},
		"no value":        {"Host there\n User\n", "line 2"},
		"an open quote":   {"Host there\n User \"x\n", "line 2"},
		"include circles": {"Include @DIR@/config\n", "deep"},
		"no port":         {"Host there\n Port twelve\n", "twelve"},
		"no time":         {"Host there\n ConnectTimeout soon\n", "soon"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "config")
			write(t, file, strings.ReplaceAll(c.text, "@DIR@", dir))
			_, err := source{file: file, getenv: os.Getenv, own: true}.resolve(t.Context(), wanted{host: "there"})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want what says %q", err, c.says)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, "Host elsewhere\n KnownHostsCommand /bin/x\nHost there\n User y\n")
	if _, err := (source{file: file, own: true}).resolve(t.Context(), wanted{host: "there"}); err != nil {
		t.Errorf("what is said of another host matters: %v", err)
	}
}

func TestSettings_NamesThatAProgramCouldTakeForFlagsAreRefused(t *testing.T) {
	for _, host := range []string{"", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a\nb", "me@there"} {
		if err := (&Config{Host: host}).check(); err == nil {
			t.Errorf("host %q is taken", host)
		}
	}
	for _, c := range []Config{{Host: "h", User: "-x"}, {Host: "h", Port: 70000}, {Host: "h", Resident: "never"}} {
		if err := c.check(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for _, host := range []string{"h", "a.example", "10.0.0.1", "fe80::1", "a_b-c"} {
		if err := (&Config{Host: host}).check(); err != nil {
			t.Error(err)
		}
	}
}

func TestParseJump(t *testing.T) {
	for spec, want := range map[string]wanted{
		"one": {host: "one"}, "me@one:22": {host: "one", user: "me", port: 22}, "ssh://me@one:9": {host: "one", user: "me", port: 9},
		"[fe80::1]:7": {host: "fe80::1", port: 7}, "a@b@one": {host: "one", user: "a@b"}, "fe80::1": {host: "fe80::1"},
	} {
		if got, err := parseJump(spec); err != nil || got != want {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
	for _, spec := range []string{"", "one:x", "one:0", "-x", "[one", "me@", "-l@one"} {
		if got, err := parseJump(spec); err == nil {
			t.Errorf("%q gives %+v", spec, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	for v, want := range map[string]time.Duration{"": 5, "0": 5, "none": 5, "7": 7e9, "1m30s": 90e9, "2h": 7200e9, "1d": 86400e9} {
		if got, err := seconds(v, 5); err != nil || got != want {
			t.Errorf("%q: %v, %v", v, got, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range corpus {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			t.Skip("files of this machine are none of its business")
		}
		file := filepath.Join(dir, "config")
		write(t, file, text)
		s := source{file: file, own: true}
		a, aerr := s.resolve(t.Context(), wanted{host: "there"})
		b, berr := s.resolve(t.Context(), wanted{host: "there"})
		if (aerr == nil) != (berr == nil) || aerr == nil && !cmp.Equal(a, b, cmp.AllowUnexported(settings{})) {
			t.Errorf("it is read in two ways: %v, %v", aerr, berr)
		}
	})
}

// SSH-7: every login shell reads the lines alike.
func TestLines_HoldNothingThatALoginShellReadsInItsOwnWay(t *testing.T) {
	l := cellar{hash: strings.Repeat("0f", 32), temp: ".resident-x"}
	for _, line := range []string{launch(l.hash, 0), launch(l.hash, 2), l.at(settle), l.at(hashing)} {
		text, ok := strings.CutPrefix(line, "sh -c '")
		text, end := strings.CutSuffix(text, "'")
		if !ok || !end || strings.ContainsAny(text, "'\\\n\r") {
			t.Errorf("%s", line)
		}
		for i := range text {
			if text[i] == '!' && !strings.HasPrefix(text[i:], "! ") {
				t.Errorf("a ! before a word: %s", text[i:])
			}
		}
		if runtime.GOOS == "windows" {
			continue
		}
		if out, err := exec.Command("sh", "-n", "-c", text).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
