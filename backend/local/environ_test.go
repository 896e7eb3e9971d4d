package local

import (
	"path/filepath"
	"strings"
	"testing"
)

// got looks a variable up in a list.
func got(list []string, name string) (string, bool) {
	for _, e := range list {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func TestEnviron_OwnCredentialsAreKeptFromCommands(t *testing.T) { // LOC-1
	for _, name := range []string{"OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN", "SUDO_PASSWORD"} {
		if v, there := got(source{host: []string{name + "=secret"}}.environ(), name); there {
			t.Errorf("%s=%s reaches commands", name, v)
		}
	}
}

func TestEnviron_WhatIsLetThrough(t *testing.T) { // LOC-1, LOC-2
	for _, row := range []struct {
		name string
		s    source
		want string // "" = absent
	}{
		{"an ordinary variable", source{host: []string{"X=1"}}, "1"},
		{"a secret of .env", source{host: []string{"X=1"}, secrets: map[string]string{"X": "1"}}, ""},
		{"a secret of .env that the user names", source{secrets: map[string]string{"X": "1"}, passthrough: []string{"X"}}, "1"},
		{"the host's value before .env", source{host: []string{"X=host"}, secrets: map[string]string{"X": "file"}, passthrough: []string{"X"}}, "host"},
		{"forced by an embedder", source{host: []string{forced + "X=1"}, secrets: map[string]string{"X": "2"}}, "1"},
		{"forced over the host's own", source{host: []string{"X=0", forced + "X=1"}}, "1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			env := row.s.environ()
			if v, _ := got(env, "X"); v != row.want {
				t.Errorf("X = %q, want %q", v, row.want)
			}
			if _, there := got(env, forced+"X"); there {
				t.Error("the forcing variable itself is handed down")
			}
		})
	}
}

func TestEnviron_AProviderKeyNeedsTheUser(t *testing.T) { // LOC-2
	host := []string{"OPENAI_API_KEY=k"}
	if v, _ := got(source{host: host, passthrough: []string{"OPENAI_API_KEY"}}.environ(), "OPENAI_API_KEY"); v != "k" {
		t.Error("the user's list doesn't pass what it names")
	}
	if n := notes([]string{"OPENAI_API_KEY", "X"}); len(n) != 1 || !strings.Contains(n[0], "OPENAI_API_KEY") {
		t.Errorf("notes %q, want one that names the key", n)
	}
	if v, _ := got(source{host: []string{forced + "OPENAI_API_KEY=k"}}.environ(), "OPENAI_API_KEY"); v != "k" {
		t.Error("an embedder can't force it")
	}
}

func TestEnviron_TheGeneralAWSChainStays(t *testing.T) { // LOC-1
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "VIRTUAL_ENV", "SSH_AUTH_SOCK"} {
		if _, there := got(source{host: []string{name + "=x"}}.environ(), name); !there {
			t.Errorf("%s is kept from commands", name)
		}
	}
}

func TestPath_KeepsOrderDropsEmptyAndDoubleAppendsTheUsual(t *testing.T) { // LOC-3
	usual := strings.Join(paths, ":")
	for in, want := range map[string]string{
		"":                     usual,
		"/x::/y:/x:":           "/x:/y:" + usual,
		"/usr/bin:/opt/z":      "/usr/bin:/opt/z:/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
		usual:                  usual,
		"/bin:/bin:/home/a b/": "/bin:/home/a b/:" + strings.Join(paths[:len(paths)-1], ":"),
	} {
		if got := fullPath(in); got != want {
			t.Errorf("fullPath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHome_FollowsTheMode(t *testing.T) { // LOC-4
	below := filepath.Join("/hh", "home")
	for _, row := range []struct {
		mode, home string
		container  bool
		want       string
	}{
		{homeReal, "/hh", true, ""}, {homeReal, "/hh", false, ""},
		{homeProfile, "/hh", false, below}, {homeProfile, "", false, ""},
		{homeAuto, "/hh", true, below}, {homeAuto, "/hh", false, ""}, {"", "/hh", true, below},
	} {
		if got := profileHome(row.mode, row.home, row.container); got != row.want {
			t.Errorf("%+v: %q", row, got)
		}
	}
	env := source{host: []string{"HOME=/home/me"}, home: below}.environ()
	if v, _ := got(env, "HOME"); v != below {
		t.Errorf("HOME = %q", v)
	}
	if v, _ := got(env, "HERMES_REAL_HOME"); v != "/home/me" {
		t.Errorf("HERMES_REAL_HOME = %q", v)
	}
}

func TestTemp_TakesTheFirstThatIsThere(t *testing.T) { // LOC-4
	dir := t.TempDir()
	for _, row := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"TMPDIR": dir, "TMP": "/"}, dir},
		{map[string]string{"TMP": dir, "TEMP": "/"}, dir},
		{map[string]string{"TEMP": dir}, dir},
		{map[string]string{"TMPDIR": dir + "/none", "TMP": dir}, dir},
	} {
		if got := tempDir(func(n string) string { return row.vars[n] }); got != row.want {
			t.Errorf("%v: %q, want %q", row.vars, got, row.want)
		}
	}
}
