package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// A23, A31, A32: a path is judged by what stands behind it.
func TestTargets_InnerEnvironments(t *testing.T) {
	for command, want := range map[string]string{
		"rm /":                                                              "/ root",
		"docker run --rm alpine rm /":                                       "alpine:/ inner",
		"docker run --rm alpine rm /tmp/x":                                  "alpine:/tmp/x inner",
		"docker run -v /:/host alpine rm /host":                             "/ root",
		"docker run -v /:/host alpine rm /host/etc/x":                       "/etc/x system",
		"docker run -v /:/host alpine sh -c 'cd /host && rm etc'":           "/etc system root",
		"docker run -v /:/host alpine chroot /host rm /etc":                 "/etc system root",
		"docker run -v /:/host alpine rm /":                                 "/ root",
		"docker run -v ~/.ssh:/k:ro alpine rm /k/id_rsa":                    "/home/ann/.ssh/id_rsa sensitive",
		"docker run -v $PWD:/app -w /app alpine rm build":                   "/data/build workspace",
		"docker run --mount type=bind,source=/etc,target=/e alpine rm /e/x": "/etc/x system",
		"docker run -v cache:/c alpine rm /c/x":                             "alpine:/c/x inner",
		"docker exec c rm /":                                                "c:/ inner",
		"docker exec -w /app c rm x":                                        "c:/app/x inner",
		"kubectl exec p -- rm /etc/x":                                       "p:/etc/x inner",
		"ssh host rm /etc/x":                                                "/etc/x system",
		"ssh host rm /data/x":                                               "/data/x other",
		"ssh host rm '~/x'":                                                 "/home/…/x home",
		"chroot /mnt/x rm /etc":                                             "/mnt/x/etc other",
		"chroot / rm /etc":                                                  "/etc system root",
		"bwrap --bind / / rm /etc":                                          "/etc system root",
		"bwrap --bind /tmp/x / rm /etc":                                     "/tmp/x/etc temp",
		"su - bob -c 'rm ~'":                                                "/home/bob home root",
		"sudo -i rm x":                                                      "/data/x workspace",
		"sudo -u bob sh -c 'rm ~/x'":                                        "/home/bob/x other",
		"nsenter -t 1 -m rm /etc":                                           "/etc system root",
		"docker run --privileged --pid=host alpine nsenter -t 1 -m sh -c 'rm /etc'": "/etc system root",
	} {
		r := read(t, command)
		got := ""
		for i, c := range r.Commands {
			if c.Program == "rm" {
				for _, tg := range r.Targets(&r.Commands[i], c.Words[1]) {
					got = analysis.Show(tg.Path) + " " + string(tg.Class)
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

func TestTargets_ClassesAndKinds(t *testing.T) {
	r := analysis.Paths(analysis.Input{Dir: "/home/ann/p", Home: "/home/ann", Vars: map[string]string{"TMPDIR": "/data/tmp"}})
	for path, want := range map[string]string{
		"~/.ssh/id_rsa": "sensitive keys", "~/.ssh/id_rsa.pub": "home public", "~/.ssh/known_hosts": "home public", "~/.ssh/authorized_keys": "sensitive public",
		"~/.ssh": "sensitive keys", "~/.aws/credentials": "sensitive credentials", "~/.bashrc": "sensitive startup", "~/.config/autostart/x": "sensitive startup",
		"~/.hermes/config.yaml": "sensitive policy", "~/.hermes": "sensitive policy", "~/.hermes/cache/x": "home ", "~/.hermes/profiles/a/.env": "sensitive policy",
		"/home/bob/.ssh/id_rsa": "sensitive keys", "/home/bob/x": "other ", "/root/.netrc": "sensitive credentials", "/etc/shadow": "system credentials",
		"/etc/cron.d/x": "system cron", "/etc/profile.d/x.sh": "system startup", "/var/run/docker.sock": "system data socket", "/etc/hosts": "system ",
		"/var/spool/cron/root": "system cron", "/home/ann/p/.npmrc": "workspace ", "/home/ann/p/.git/hooks/pre-commit": "workspace startup",
		"/dev/null": "other ", "/dev/sda": "device ", "/dev/shm/x": "temp ", "/dev/shm": "temp ", "/tmp": "temp ", "/tmp/x": "temp ", "/data/tmp/x": "temp ",
		"/proc/sys/x": "kernel ", "/proc/1/environ": "kernel credentials", "/usr/bin/x": "system ", "/usr/bin": "system root ", "/mnt/c": "system root ",
		"/mnt/c/Users/bob/.ssh/id_rsa": "sensitive keys", "/Users/bob": "home root ", "/opt/x": "system data ", "/System/x": "system ", "/private/etc/x": "system ",
		"/x/y": "other ",
	} {
		if rest, ok := strings.CutPrefix(path, "~"); ok {
			path = "/home/ann" + rest
		}
		tg := r.Target("/", path)
		if got := string(tg.Class) + " " + string(tg.Kind); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestTargets_GlobsStandForWhatTheyMatch(t *testing.T) {
	for command, want := range map[string]analysis.Kind{
		"cat ~/.ss?/id_rsa": analysis.KindKeys, "cat /etc/shad*": analysis.KindCredentials, "cat ~/.aw[st]/x": analysis.KindCredentials,
		"cat ~/.bash*": analysis.KindStartup, "cat ~/*.log": "", "cat /etc/*.conf": "", "cat $X/.ssh/id_rsa": analysis.KindKeys, "cat /home/*/.ssh/id_rsa": analysis.KindKeys,
	} {
		r := read(t, command)
		if got := r.Targets(&r.Commands[0], r.Commands[0].Words[1])[0].Kind; got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

type links map[string]string

func (l links) Origin(string) analysis.FileOrigin { return "" }
func (l links) Text(string) (string, bool)        { return "", false }
func (l links) Any() bool                         { return true }
func (l links) Resolve(p string) string {
	for from, to := range l {
		if p == from || strings.HasPrefix(p, from+"/") {
			return to + p[len(from):]
		}
	}
	return p
}

// A31: links are followed where the environment tells; a delete of a link takes the link.
func TestTargets_FollowLinks(t *testing.T) {
	in := analysis.Input{Dir: "/data", Home: "/home/ann", Files: links{"/data/l": "/etc"}}
	for command, want := range map[string][]string{
		"rm l":   {"/data/l workspace false", "/etc system root true"},
		"rm l/x": {"/etc/x system false"},
		"rm l/*": {"/etc system root false"},
		"rm x":   {"/data/x workspace false"},
	} {
		s, _ := analysis.Parse(command)
		r := s.Read(in)
		var got []string
		for _, tg := range r.Targets(&r.Commands[0], r.Commands[0].Words[1]) {
			got = append(got, tg.Path+" "+string(tg.Class)+map[bool]string{true: " true", false: " false"}[tg.Link])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", command, got, want)
		}
	}
}
