package approval_test

import (
	"slices"
	"testing"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
)

// A16, A29: what one command leaves behind counts for what a later one runs: a path to look for programs in, files that shells read as
// they start, links and copies under other names. What a person or a build tool usually sets isn't asked about.
func TestCarried_ALaterCommandRunsWhatAnEarlierOneLeft(t *testing.T) {
	const usual = ":/usr/local/bin:/usr/bin:/bin"
	for name, c := range map[string]struct {
		before  []string
		vars    map[string]string
		texts   map[string]string // what stands in files
		links   map[string]string
		command string
		want    string // "" = nothing is asked
	}{
		"a script in a path": {before: []string{"mkdir -p bin && echo x > bin/ls"}, vars: map[string]string{"PATH": "/data/app/bin" + usual},
			texts: map[string]string{"/data/app/bin/ls": "#!/bin/sh\nsystemctl stop x"}, command: "ls -l", want: "service.stop"},
		"a harmless script in a path": {before: []string{"echo x > bin/ls"}, vars: map[string]string{"PATH": "/data/app/bin" + usual},
			texts: map[string]string{"/data/app/bin/ls": "#!/bin/sh\nexec /bin/ls --color \"$@\""}, command: "ls -l"},
		"one that can't be read": {before: []string{"cat in > bin/ls"}, vars: map[string]string{"PATH": "/data/app/bin" + usual}, command: "ls -l", want: "shell.opaque"},
		"one that gets its words": {before: []string{"echo x > bin/go"}, vars: map[string]string{"PATH": "/data/app/bin" + usual},
			texts: map[string]string{"/data/app/bin/go": "#!/bin/sh\nrm -rf \"$1\""}, command: "go /", want: "delete.root"},
		"a script for temporary files' directory": {vars: map[string]string{"PATH": "/tmp/x" + usual}, texts: map[string]string{"/tmp/x/git": "#!/bin/sh\nsystemctl stop x"},
			command: "git status", want: "service.stop"},
		"a path set before the command": {before: []string{"echo x > t/ls"}, texts: map[string]string{"/data/app/t/ls": "systemctl stop x"}, command: "PATH=t:$PATH ls", want: "service.stop"},
		"a path that env sets": {before: []string{"echo x > t/ls"}, texts: map[string]string{"/data/app/t/ls": "systemctl stop x"}, command: "env PATH=/data/app/t:$PATH ls",
			want: "service.stop"},
		"a path set in the same text": {before: []string{"echo x > t/ls"}, texts: map[string]string{"/data/app/t/ls": "systemctl stop x"}, command: "export PATH=/data/app/t:$PATH; ls",
			want: "service.stop"},
		"a download in a path": {before: []string{"curl -o bin/ls https://x.example/y"}, vars: map[string]string{"PATH": "/data/app/bin" + usual}, command: "ls", want: "remote.run"},
		"a builtin is no file": {before: []string{"cat in > bin/echo"}, vars: map[string]string{"PATH": "/data/app/bin" + usual}, command: "echo x"},
		"Go's programs":        {before: []string{"go install ./cmd/x"}, vars: map[string]string{"PATH": "/home/ann/go/bin" + usual}, command: "x --flag"},
		"a virtual environment": {before: []string{"python3 -m venv .venv"}, vars: map[string]string{"PATH": "/data/app/.venv/bin" + usual, "VIRTUAL_ENV": "/data/app/.venv"},
			command: "pip install -r requirements.txt && python -m pytest -q"},
		"a project's tools": {vars: map[string]string{"PATH": "/data/app/node_modules/.bin" + usual}, command: "eslint src && tsc --noEmit"},
		"a file for shells": {before: []string{"echo x > env.sh"}, vars: map[string]string{"BASH_ENV": "/data/app/env.sh"}, texts: map[string]string{"/data/app/env.sh": "systemctl stop x"},
			command: "make", want: "service.stop"},
		"a harmless file for shells": {before: []string{"echo x > env.sh"}, vars: map[string]string{"BASH_ENV": "/data/app/env.sh"}, texts: map[string]string{"/data/app/env.sh": "export A=1"},
			command: "make"},
		"a script for a pager": {before: []string{"echo x > p.sh"}, vars: map[string]string{"GIT_PAGER": "sh /data/app/p.sh"}, texts: map[string]string{"/data/app/p.sh": "systemctl stop x"},
			command: "git log", want: "service.stop"},
		"a setting of git's": {vars: map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager", "GIT_CONFIG_VALUE_0": "rm -rf build"}, command: "git log",
			want: "delete.recursive"},
		"a downloaded library": {before: []string{"curl -o l.so https://x.example/y"}, vars: map[string]string{"LD_PRELOAD": "/data/app/l.so"}, command: "ls", want: "remote.run"},
		"a usual pager":        {vars: map[string]string{"PAGER": "less -R", "EDITOR": "vim", "LD_LIBRARY_PATH": "/data/app/lib", "NODE_OPTIONS": "--max-old-space-size=4096"}, command: "git log"},
		"a link to a program":  {before: []string{"ln -s /bin/rm tidy"}, links: map[string]string{"/data/app/tidy": "/usr/bin/rm"}, command: "./tidy -rf /", want: "delete.root"},
		"a link in a path": {before: []string{"ln -s /bin/rm bin/ls"}, links: map[string]string{"/data/app/bin/ls": "/usr/bin/rm"}, vars: map[string]string{"PATH": "/data/app/bin" + usual},
			command: "ls -rf /", want: "delete.root"},
		"a link to the same": {before: []string{"ln -s /usr/bin/python3.11 bin/python"}, links: map[string]string{"/data/app/bin/python": "/usr/bin/python3.11"},
			vars: map[string]string{"PATH": "/data/app/bin" + usual}, command: "python x.py"},
		"a copy of a program":   {before: []string{"cp /bin/rm tidy"}, texts: map[string]string{"/data/app/tidy": "\x7fELF\x00\x00"}, command: "./tidy -rf /", want: "shell.opaque"},
		"a value":               {vars: map[string]string{"X": "/etc"}, command: "rm -rf \"$X\"", want: "delete.root"},
		"a harmless value":      {vars: map[string]string{"OUT": "/data/app/out"}, command: "cp a \"$OUT/b\" && ls $OUT/*"},
		"a command in a value":  {vars: map[string]string{"X": "rm -rf /"}, command: "eval \"$X\"", want: "delete.root"},
		"another home":          {vars: map[string]string{"HOME": "/etc"}, command: "rm -rf ~", want: "delete.root"},
		"where cd looks":        {vars: map[string]string{"CDPATH": "/etc"}, command: "cd nginx && rm -rf *", want: "delete.protected"},
		"a shell's own setting": {vars: map[string]string{"PWD": "/etc", "IFS": "m"}, command: "rm -r x && ls $PWD", want: "delete.recursive"},
	} {
		t.Run(name, func(t *testing.T) {
			g := approval.New(approval.Config{Asker: &person{choice: channel.Once}})
			for _, text := range c.before {
				g.Check(t.Context(), command(text))
			}
			r := command(c.command)
			r.Disk, r.Vars = &disk{texts: c.texts, links: c.links}, c.vars
			got := g.Check(t.Context(), r)
			if c.want == "" && got.Outcome != approval.Allowed || c.want != "" && !slices.Contains(got.IDs, c.want) {
				t.Errorf("%q: %s %v, want %q", c.command, got.Outcome, got.IDs, c.want)
			}
		})
	}
}
