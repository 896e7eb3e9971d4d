package rules_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// A43–A45: acts on files and the system in odd spellings, one a line: the rows that must be found, ! for those that nobody can
// approve, a tab, the command. Nothing else may be on the floor.
func TestFiles_OddSpellingsAreFound(t *testing.T) {
	for line := range strings.Lines(read(t, "testdata/files_found.txt")) {
		want, command, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%q: no tab", line)
		}
		found := marked(command)
		for _, id := range strings.Fields(want) {
			if !slices.Contains(found, id) {
				t.Errorf("%s: found %v, want %s", command, found, id)
			}
		}
		if !strings.Contains(want, "!") && slices.ContainsFunc(found, func(id string) bool { return strings.HasSuffix(id, "!") }) {
			t.Errorf("%s: found %v, none of which may be on the floor", command, found)
		}
	}
}

// A35, A36: everyday commands that name the same programs and places, one a line. No row at all may find any.
func TestFiles_EverydayCommandsAreSilent(t *testing.T) {
	for line := range strings.Lines(read(t, "testdata/files_silent.txt")) {
		if found := marked(strings.TrimRight(line, "\n")); len(found) > 0 {
			t.Errorf("%s: found %v, want nothing", strings.TrimSpace(line), found)
		}
	}
}

// marked lists the ids of what is found, with ! behind those on the floor.
func marked(command string) []string {
	s, _ := analysis.Parse(command)
	var ids []string
	for _, f := range rules.Check(s.Read(analysis.Input{Dir: "/data/app", Home: "/home/ann", Programs: rules.Programs()})) {
		id := f.Row.ID
		if f.Floor {
			id += "!"
		}
		ids = append(ids, id)
	}
	return ids
}

// A45: these rows are the floor, and no others.
func TestTable_TheFloor(t *testing.T) {
	want := []string{"delete.root", "disk.raw", "proc.all", "proc.bomb", "power.off", "disk.format"}
	for _, r := range rules.Table() {
		if r.Floor != slices.Contains(want, r.ID) {
			t.Errorf("%s: floor is %v", r.ID, r.Floor)
		}
	}
}

// A40: an act that stands twice is one finding; another target is another.
func TestCheck_EqualActsMerge(t *testing.T) {
	for command, want := range map[string]int{
		"rm -rf x || rm -rf x": 1, "rm -rf x; sudo rm -rf x": 1, "rm -rf x; rm -rf y": 2, "systemctl stop a && systemctl stop a": 1,
		"systemctl stop a; systemctl stop b": 2,
	} {
		if found := marked(command); len(found) != want {
			t.Errorf("%s: found %v, want %d", command, found, want)
		}
	}
}

// A23: what stays in a container is asked about, and never denied.
func TestCheck_ContainersHaveNoFloorOfTheHost(t *testing.T) {
	for _, command := range []string{"docker exec c reboot", "docker exec c kill -9 -1", "docker run --rm alpine rm -rf /", "docker run --rm alpine poweroff"} {
		if found := marked(command); slices.ContainsFunc(found, func(id string) bool { return strings.HasSuffix(id, "!") }) {
			t.Errorf("%s: found %v", command, found)
		}
	}
	for command, want := range map[string]string{"docker run -v /:/host alpine rm -rf /host": "delete.root!", "ssh h reboot": "power.off!", "sudo chroot /mnt/x true; ssh h 'rm -rf /'": "delete.root!"} {
		if found := marked(command); !slices.Contains(found, want) {
			t.Errorf("%s: found %v, want %s", command, found, want)
		}
	}
}

// A90: what the table costs an everyday command, the reading aside.
func BenchmarkCheck_Everyday(b *testing.B) {
	text, err := os.ReadFile("testdata/files_silent.txt")
	if err != nil {
		b.Fatal(err)
	}
	var readings []*analysis.Reading
	for line := range strings.Lines(string(text)) {
		s, _ := analysis.Parse(strings.TrimRight(line, "\n"))
		readings = append(readings, s.Read(analysis.Input{Dir: "/data/app", Home: "/home/ann", Programs: rules.Programs()}))
	}
	for i := 0; b.Loop(); i++ {
		rules.Check(readings[i%len(readings)])
	}
}
