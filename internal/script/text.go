package script

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// These texts are fixed by the contract: models and programs know them.
const (
	timedOutText    = "Script timed out after %s and was killed."
	truncatedText   = "[output truncated at %s]"
	interruptedText = "[execution interrupted - %s]"
	stderrMarker    = "--- stderr ---"
)

// interruptions says for each cause what happened.
var interruptions = map[tool.Interruption]string{
	tool.NewMessage: "user sent a new message",
	tool.Stop:       "stopped by the user",
	tool.SessionEnd: "the session ended",
	tool.ParentEnd:  "the call that it belongs to ended",
	tool.Budget:     "the budget is used up",
	tool.Shutdown:   "Hermes is shutting down",
}

func interruptedLine(cause tool.Interruption) string {
	what, ok := interruptions[cause]
	if !ok {
		what = string(cause)
	}
	return fmt.Sprintf(interruptedText, what)
}

// Seconds writes a duration as a number of seconds: 300s, 0.5s.
func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// Kilobytes writes a size as it stands in the notice of a cut: 50KB, 0.5KB. 1 KB is 1 000 bytes.
func Kilobytes(n int) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + "KB" }
