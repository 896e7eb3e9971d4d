//go:build linux || darwin

package file_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/tool"
)

type hit struct {
	Path    string
	Line    int
	Content string
	Column  int
}

func (r res) hits(t *testing.T) []hit {
	t.Helper()
	var out []hit
	if err := json.Unmarshal(r.Matches, &out); err != nil {
		t.Fatalf("%v in %s", err, r.text)
	}
	return out
}

func TestSearch_PathsWorkAsPathsOfTheOthers_FIL2(t *testing.T) {
	h := here(t)
	h.put("src/a.py", "x = old_api(1)\n")
	h.put("src/sub/b.py", "y = old_api(2)\n")
	for root, want := range map[string]string{".": "src/a.py", "src/": "src/a.py", "src": "src/a.py", "./src": "src/a.py", "src/a.py": "src/a.py", h.path("src"): h.path("src/a.py")} {
		r := h.as(root, tool.CallerModel).do("search_files", m{"pattern": "old_api", "path": root})
		hits := r.hits(t)
		if len(hits) == 0 || hits[0].Path != want || hits[0].Line != 1 || hits[0].Column != 5 || hits[0].Content != "x = old_api(1)" {
			t.Errorf("%s: %s", root, r.text)
			continue
		}
		if read := h.as(root, tool.CallerScript).do("read_file", m{"path": hits[0].Path}); read.content() != "x = old_api(1)\n" {
			t.Errorf("%s: %s", root, read.text)
		}
	}
}

func TestSearch_PagesAndModes_SRC6_SRC11(t *testing.T) {
	h := here(t)
	for i := range 5 {
		h.put(fmt.Sprintf("f%d.txt", i), strings.Repeat("needle\n", i+1))
	}
	r := h.do("search_files", m{"pattern": "needle", "limit": 4})
	if r.TotalCount != 15 || !r.Truncated || r.NextOffset != 4 || len(r.hits(t)) != 4 {
		t.Errorf("%s", r.text)
	}
	r = h.do("search_files", m{"pattern": "needle", "limit": 20, "offset": 4})
	if r.Truncated || len(r.hits(t)) != 11 || r.NextOffset != 0 {
		t.Errorf("%s", r.text)
	}
	if r := h.do("search_files", m{"pattern": "needle", "output_mode": "count"}); r.Counts["f4.txt"] != 5 || len(r.Counts) != 5 {
		t.Errorf("%s", r.text)
	}
	if r := h.do("search_files", m{"pattern": "needle", "output_mode": "files_only"}); len(r.Files) != 5 {
		t.Errorf("%s", r.text)
	}
	if r := h.do("search_files", m{"pattern": "*.txt", "target": "find"}); len(r.Files) != 5 || r.Matches != nil {
		t.Errorf("%s", r.text)
	}
	s := h.as("s", tool.CallerScript)
	if r := s.do("search_files", m{"pattern": "*.txt", "target": "files"}); len(r.hits(t)) != 5 || len(r.Files) != 5 {
		t.Errorf("%s", r.text)
	}
	h.put("many.txt", strings.Repeat("grain\n", 300))
	if r := s.do("search_files", m{"pattern": "grain"}); len(r.hits(t)) != 300 || r.Truncated { // XT-4
		t.Errorf("%.100s", r.text)
	}
	if r := h.do("search_files", m{"pattern": "none such"}); !strings.Contains(r.text, `"matches":[]`) || strings.Contains(r.text, "error") {
		t.Errorf("%s", r.text)
	}
}

func TestSearch_GuardedFilesAreNotNamed_SRC10(t *testing.T) {
	h := here(t)
	h.put(".env", "NEEDLE=1\n")
	h.put("a.txt", "NEEDLE\n")
	for _, args := range []m{{"pattern": "NEEDLE"}, {"pattern": "NEEDLE", "file_glob": ".env"}, {"pattern": ".env*", "target": "files"}, {"pattern": "NEEDLE", "output_mode": "count", "file_glob": "{.*,*}"}} {
		if r := h.do("search_files", args); strings.Contains(r.text, `.env"`) {
			t.Errorf("%v: %s", args, r.text)
		}
	}
}

func TestSearch_FaultsAreNamed_SRC4_SRC9(t *testing.T) {
	h := here(t)
	h.put("dir/a.txt", "x\n")
	mention(t, h.do("search_files", m{"pattern": "("}).Error, "pattern")
	mention(t, h.do("search_files", m{"pattern": "x", "file_glob": "{a"}).Error, "glob")
	mention(t, h.do("search_files", m{"pattern": ""}).Error, "pattern")
	mention(t, h.do("search_files", m{"pattern": "x", "path": "nowhere"}).Error, "no such file")
	if r := h.do("search_files", m{"pattern": "-e"}); r.Error != "" {
		t.Errorf("%s", r.text)
	}
}

func TestSearch_RepeatsEnd_STL4(t *testing.T) {
	h := here(t)
	h.put("a.txt", "x\n")
	search := func() res { return h.do("search_files", m{"pattern": "x"}) }
	search()
	if r := search(); r.Warning != "" {
		t.Errorf("second: %s", r.text)
	}
	if r := search(); r.Warning == "" || r.Matches == nil {
		t.Errorf("third: %s", r.text)
	}
	mention(t, search().Error, "4th")
	h.do("search_files", m{"pattern": "y"})
	if r := search(); r.Error != "" || r.Warning != "" {
		t.Errorf("%s", r.text)
	}
	for range 6 {
		if r := h.as("t1", tool.CallerScript).do("search_files", m{"pattern": "x"}); r.Warning != "" || r.Error != "" {
			t.Errorf("script: %s", r.text)
		}
	}
}
