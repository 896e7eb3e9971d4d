package analysis_test

import (
	"slices"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// commandsOf lists the programs of a reading, and the calls that they stand for.
func commandsOf(text string) (programs, calls []string, r *analysis.Reading) {
	s, _ := analysis.Parse(text)
	r = s.Read(analysis.Input{Dir: "/data/app", Home: "/home/ann"})
	for _, c := range r.Commands {
		programs = append(programs, c.Program)
		if c.Call != "" {
			calls = append(calls, c.Call)
		}
	}
	return programs, calls, r
}

// A13, A39: what a program does stands as commands, with the interpreter as their origin and the working directory that the program has.
func TestInline_ActsBecomeCommands(t *testing.T) {
	for text, want := range map[string][]string{
		`python3 -c "import os; os.system('ls | wc')"`:                                {"python", "ls", "wc"},
		`python3 -c "import subprocess; subprocess.run(['sudo', 'ls'])"`:              {"python", "sudo", "ls"},
		`python3 -c "import shutil; shutil.rmtree('x')"`:                              {"python", "rm"},
		`python3 -c "import os; os.rename('a', 'b')"`:                                 {"python", "mv"},
		`node -e "require('fs').chmodSync('x', 0o777)"`:                               {"node", "chmod"},
		`python3 -c "open('x', 'w')"`:                                                 {"python", ""},
		`python3 -c "import os; os.system('python3 -c \"import os; os.unlink(1)\"')"`: {"python", "python", "rm"},
		`python3 -c "print(1)"`:                                                       {"python"},
		`ruby -e 'puts 1'`:                                                            {"ruby"},
	} {
		if got, _, _ := commandsOf(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	_, calls, r := commandsOf(`cd /srv && python3 -c "import os, shutil; os.chdir('x'); shutil.rmtree('y')"`)
	last := r.Commands[len(r.Commands)-1]
	if !slices.Equal(calls, []string{"shutil.rmtree"}) || !last.Under("python") || !last.Payload || !slices.Contains(last.Dirs, "/srv/x") {
		t.Errorf("rmtree: calls %q, dirs %q, payload %v", calls, last.Dirs, last.Payload)
	}
	if got := r.Targets(&last, last.Words[len(last.Words)-1])[0].Path; got != "/srv/x/y" {
		t.Errorf("its target is %q", got)
	}
	_, _, r = commandsOf(`python3 -c "import subprocess; subprocess.run('rm -rf *', shell=True, cwd='/')"`)
	if last := r.Commands[len(r.Commands)-1]; last.Program != "rm" || last.Dirs[0] != "/" {
		t.Errorf("cwd: %q in %q", last.Program, last.Dirs)
	}
}

// A27: a text that isn't known is told once, about its interpreter.
func TestInline_UnknownTextIsNoted(t *testing.T) {
	for text, want := range map[string]int{
		`python3 -c "$X"`: 1, `./gen | python3`: 1, `python3 -c "eval(x)"`: 1, `python3 -c "print($X)"`: 0, `python3 x.py`: 0, `python3 < x.py`: 0, `node -p "1 + $X"`: 0,
	} {
		_, _, r := commandsOf(text)
		n := 0
		for _, note := range r.Notes {
			if note.Kind == analysis.NoteCode {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d notes, want %d: %v", text, n, want, r.Notes)
		}
	}
}
