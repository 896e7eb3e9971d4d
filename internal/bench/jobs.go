package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

func jobPaths() []path {
	return []path{
		{"spawn a background job, to running the same shell", "×", 1.5, false, spawnJob},
		{"poll a background job, to a Unix-socket round trip to another process", "×", 3, false, pollJob},
		{"kill 100 background jobs", "s", 0.1, false, killJobs},
		{"1 000 idle background jobs, memory of the process that keeps them", "MB", 30, false, idleJobs},
	}
}

// begin starts a background job and gives its id.
func (b *Bench) begin(ctx context.Context, command string) (string, error) {
	args, err := json.Marshal(map[string]any{"command": command, "background": true})
	if err != nil {
		return "", err
	}
	r := b.session.Call(ctx, tool.Request{Name: "terminal", Arguments: args})
	var job struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(r.JSON), &job); err != nil || job.ID == "" {
		return "", fmt.Errorf("start a background job: %s", r.JSON)
	}
	return job.ID, nil
}

// about is a call about a job.
func about(action, id string) tool.Request {
	return tool.Request{Name: "process", Arguments: fmt.Appendf(nil, `{"action":%q,"session_id":%q}`, action, id)}
}

func (b *Bench) ask(ctx context.Context, action, id string) error {
	if r := b.session.Call(ctx, about(action, id)); r.Status != tool.StatusOK {
		return fmt.Errorf("process %s: %s", action, r.JSON)
	}
	return nil
}

func spawnJob(ctx context.Context, b *Bench) (float64, string, error) {
	return ratio(30, func() error { _, err := b.begin(ctx, "true"); return err },
		func() error { return exec.CommandContext(ctx, "bash", "-c", "true").Run() })
}

func pollJob(ctx context.Context, b *Bench) (float64, string, error) {
	id, err := b.begin(ctx, "echo hello; exec sleep 600")
	if err != nil {
		return 0, "", err
	}
	near, err := b.bareAnswerer(func(at string) (func() error, error) {
		go func() { _ = Answer(ctx, at) }() // ends with the connection
		return func() error { return nil }, nil
	})
	if err != nil {
		return 0, "", err
	}
	defer near.close()
	far, err := b.bareAnswerer(func(at string) (func() error, error) {
		cmd := exec.CommandContext(ctx, b.Executable, "bench", "--answer", at)
		return cmd.Wait, cmd.Start()
	})
	if err != nil {
		return 0, "", err
	}
	defer far.close()
	v, detail, err := ratio(200, func() error { return b.ask(ctx, "poll", id) }, far.ask)
	if err != nil {
		return 0, "", err
	}
	_, within, err := pair(200, far.ask, near.ask)
	if err != nil {
		return 0, "", err
	}
	return v, fmt.Sprintf("%s, which within one process take %v", detail, within.Round(time.Microsecond)), b.ask(ctx, "kill", id)
}

// Answer answers at a socket that somebody listens to, until they leave: the other end of a bare round trip.
func Answer(ctx context.Context, at string) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", at)
	if err != nil {
		return fmt.Errorf("answer a benchmark: %w", err)
	}
	defer c.Close()
	answer(c)
	return nil
}

// answerer is the other end of a bare round trip.
type answerer struct {
	net.Conn
	in   *bufio.Reader
	wait func() error
}

// bareAnswerer has somebody answer at a socket. The keeper is another process, and so is what it is measured against.
func (b *Bench) bareAnswerer(begin func(at string) (wait func() error, err error)) (*answerer, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", filepath.Join(b.dir, "bare.sock"))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	wait, err := begin(l.Addr().String())
	if err != nil {
		return nil, err
	}
	if err := l.(*net.UnixListener).SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return &answerer{c, bufio.NewReader(c), wait}, nil
}

func (a *answerer) ask() error { return askBare(a.Conn, a.in) }

func (a *answerer) close() {
	_ = a.Close()
	_ = a.wait()
}

func killJobs(ctx context.Context, b *Bench) (float64, string, error) {
	var took []time.Duration
	for range 3 {
		calls := make([]tool.Request, 100)
		for i := range calls {
			id, err := b.begin(ctx, "exec sleep 600")
			if err != nil {
				return 0, "", err
			}
			calls[i] = about("kill", id)
		}
		start := time.Now()
		for _, r := range b.session.CallBatch(ctx, tool.Batch{Calls: calls}) {
			if r.Status != tool.StatusOK {
				return 0, "", fmt.Errorf("kill: %s", r.JSON)
			}
		}
		took = append(took, time.Since(start))
	}
	return median(took).Seconds(), "one batch of calls", nil
}

// idleJobs starts jobs that do nothing and looks at what their keeper has grown by.
func idleJobs(ctx context.Context, b *Bench) (float64, string, error) {
	const n = 1000
	var before float64
	ids := make([]string, n)
	for i := range ids {
		var err error
		if ids[i], err = b.begin(ctx, "exec sleep 600"); err != nil {
			return 0, "", err
		}
		if i == 0 {
			if before, err = b.keeperMemory(ctx, ids[0]); err != nil {
				return 0, "", err
			}
		}
	}
	after, err := b.keeperMemory(ctx, ids[0])
	calls := make([]tool.Request, n)
	for i := range calls {
		calls[i] = about("kill", ids[i])
	}
	b.session.CallBatch(ctx, tool.Batch{Calls: calls})
	return after - before, fmt.Sprintf("%.1f MB in all", after), err
}

// keeperMemory is the resident set of the parent of a job, in MB.
func (b *Bench) keeperMemory(ctx context.Context, id string) (float64, error) {
	var job struct {
		PID int `json:"pid"`
	}
	r := b.session.Call(ctx, about("poll", id))
	if err := json.Unmarshal([]byte(r.JSON), &job); err != nil || job.PID == 0 {
		return 0, fmt.Errorf("poll a background job: %s", r.JSON)
	}
	parent, err := statusOf(job.PID, "PPid:")
	if err != nil {
		return 0, err
	}
	kb, err := statusOf(parent, "VmRSS:")
	return float64(kb) / 1000, err
}

// statusOf reads a number of /proc/PID/status.
func statusOf(pid int, field string) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("this system doesn't tell the memory of a process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field {
			return strconv.Atoi(f[1])
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// askBare is what a client would do by hand: a framed JSON request and its answer.
func askBare(c io.Writer, in io.Reader) error {
	body, err := json.Marshal(map[string]any{"id": 1, "action": "poll", "job": "proc_0123456789ab"})
	if err != nil {
		return err
	}
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil { //nolint:gosec // a few bytes
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	answer := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(in, answer); err != nil {
		return err
	}
	var decoded map[string]any
	return json.Unmarshal(answer, &decoded)
}
