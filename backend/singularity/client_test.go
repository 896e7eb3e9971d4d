package singularity

import (
	"io"
	"strings"
	"testing"
)

func TestTail_KeepsTheBeginningHoweverItIsWrittenTo(t *testing.T) {
	for _, copied := range []bool{false, true} {
		said := &tail{most: 4}
		var err error
		if copied { // as the library does for a program's output
			_, err = io.Copy(said, strings.NewReader("one two"))
		} else {
			_, err = io.WriteString(said, "one two")
		}
		if err != nil || said.String() != "one" || len(said.kept) != 4 {
			t.Errorf("copied %v: %q, %v", copied, said.kept, err)
		}
	}
}
