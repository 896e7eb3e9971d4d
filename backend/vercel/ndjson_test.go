package vercel

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What is read of a stream of the API doesn't depend on how often contact broke: a log that is read again from its beginning, after it was
// cut anywhere, gives the same outputs and the same exit code as one that is read once.
func FuzzTape_ALogThatIsCutAndReadAgainGivesTheSame(f *testing.F) {
	f.Add([]byte("b2s=\n.\n"), uint16(40), uint8(3))
	f.Add([]byte("hello, \xff\x00 world\n\n.\nx"), uint16(7), uint8(0))
	f.Fuzz(func(t *testing.T, out []byte, cut uint16, code uint8) {
		var log bytes.Buffer
		say := func(v any) { _ = json.NewEncoder(&log).Encode(v) }
		say(map[string]any{"command": map[string]any{"id": "cmd_1", "exitCode": nil}})
		for at := 0; at < len(out); at += 5 {
			say(map[string]any{"stream": []string{"stdout", "stderr"}[at%2], "data": string(out[at:min(len(out), at+5)])})
		}
		say(map[string]any{"command": map[string]any{"id": "cmd_1", "exitCode": code}})
		once, _ := heard(t, log.Bytes())
		again, whole := heard(t, log.Bytes()[:min(int(cut), log.Len())], log.Bytes())
		if once != again || !whole {
			t.Errorf("%+v, want %+v", again, once)
		}
	})
}

type said struct {
	out, err string
	exit     int
}

// heard reads logs that begin at the same beginning.
func heard(t *testing.T, logs ...[]byte) (s said, whole bool) {
	t.Helper()
	tp := &tape{print: func(of, text string) error {
		if of == "stdout" {
			s.out += text
		} else {
			s.err += text
		}
		return nil
	}}
	var err error
	for _, l := range logs {
		tp.out.rewind()
		tp.err.rewind()
		err = readLines(bytes.NewReader(l), tp.take) // which breaks where the log was cut
	}
	if err != nil || tp.exit == nil {
		t.Fatalf("a whole log: %v, exit code %v", err, tp.exit)
	}
	s.exit = *tp.exit
	return s, tp.id == "cmd_1"
}

// Whatever a server says, a command counts as ended only by an exit code in a line that it sent whole.
func FuzzReadLines_NothingButAWholeLineEndsACommand(f *testing.F) {
	f.Add([]byte(`{"command":{"id":"cmd_1","exitCode":null}}` + "\n" + `{"stream":"stdout","data":"b2s=\n.\n"}` + "\n" + `{"command":{"id":"cmd_1","exitCode":3}}` + "\n"))
	f.Add([]byte(`{"stream":"error","data":{"code":"sandbox_stopped","message":"it stopped"}}` + "\n"))
	f.Add([]byte(`{"command":{"id":"cmd_1","exitCode":3}}`))
	f.Add([]byte("{\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tp := &tape{print: func(string, string) error { return nil }}
		err := readLines(bytes.NewReader(b), tp.take)
		if tp.exit == nil {
			return
		}
		if tp.id == "" {
			t.Error("a command ended that has no id")
		}
		for _, l := range bytes.SplitAfter(b, []byte("\n")) {
			var one line
			if bytes.HasSuffix(l, []byte("\n")) && json.Unmarshal(l, &one) == nil && one.Command != nil && one.Command.Exit != nil && *one.Command.Exit == *tp.exit {
				return
			}
		}
		t.Errorf("exit code %d of no whole line: %q, %v", *tp.exit, b, err)
	})
}
