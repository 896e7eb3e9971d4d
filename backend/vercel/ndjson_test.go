package vercel

import (
	"bytes"
	"testing"
)

func FuzzReadLines_NoStreamBreaksIt(f *testing.F) {
	f.Add([]byte(`{"command":{"id":"cmd_1","exitCode":null}}` + "\n" + `{"stream":"stdout","data":"b2s=\n.\n"}` + "\n" + `{"command":{"id":"cmd_1","exitCode":3}}` + "\n"))
	f.Add([]byte(`{"stream":"error","data":{"code":"sandbox_stopped","message":"it stopped"}}` + "\n"))
	f.Add([]byte("{\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		c := &command{out: output{to: &out}, err: output{to: &out}}
		if err := readLines(bytes.NewReader(b), c.take); err == nil && c.whole() && c.exit == nil {
			t.Error("whole, and without an exit code")
		}
	})
}
