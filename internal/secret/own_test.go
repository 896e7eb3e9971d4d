package secret

import (
	"slices"
	"strings"
	"testing"
)

func TestIsOwn_EveryRowOfTheList(t *testing.T) { // LOC-1
	for i, row := range own {
		if name := strings.Replace(row, "*", "SOMETHING", 1); !IsOwn(name) {
			t.Errorf("%s is not known as the runtime's own", name)
		}
		if slices.Contains(own[:i], row) {
			t.Errorf("%s stands twice", row)
		}
		for _, p := range ownPrefixes {
			if strings.HasPrefix(row, p) && row != p+"*" {
				t.Errorf("%s is covered by %s*", row, p)
			}
		}
	}
	for _, name := range []string{"", "PATH", "MY_API_KEY", "AWS_ACCESS_KEY_ID", "OPENAI_API_KEY_2"} {
		if IsOwn(name) {
			t.Errorf("%q counts as the runtime's own", name)
		}
	}
}
