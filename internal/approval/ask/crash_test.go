package ask_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
)

// orphanDir has this test program be a process that asks and waits until it is killed.
const orphanDir = "HERMES_TEST_ORPHAN_DIR"

func orphan(dir string) {
	q, err := ask.Open(context.Background(), ask.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	q.Attach("test", ask.Deliver(func(_ context.Context, r ask.Request) error {
		_, err := fmt.Println("open", r.ID)
		return err
	}))
	_, _ = q.Ask(context.Background(), wanted("orphan", "s"))
	os.Exit(1)
}

// A77: while its process lives a request is that process's; when that is killed the request is expired, and its answer runs nothing.
func TestQueue_AKilledProcessLeavesNothingOpen(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), orphanDir+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer overdue.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open orphan\n" {
		t.Fatalf("%q, %v", line, err)
	}
	before := open(t, ask.Config{Dir: dir})
	if o, err := before.Answer(t.Context(), "orphan", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrElsewhere) || len(before.Orphans()) != 0 {
		t.Errorf("while it lives: %+v, %v, orphans %+v", o, err, before.Orphans())
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	if o, err := before.Answer(t.Context(), "orphan", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrSettled) || o.Status != ask.Expired {
		t.Errorf("asked of a process that knew it alive: %+v, %v", o, err)
	}
	after := open(t, ask.Config{Dir: dir})
	if o, err := after.Answer(t.Context(), "orphan", ask.Reply{Choice: channel.Once}); !errors.Is(err, ask.ErrSettled) || o.Status != ask.Expired {
		t.Errorf("after the restart: %+v, %v", o, err)
	}
}
