package verceltest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"
)

// session does something with a session («REST»: stop-a-session, extend-session-timeout, execute-a-command and the like).
func (s *Server) session(w http.ResponseWriter, r *http.Request, session string, below []string) {
	s.mu.Lock()
	i := slices.IndexFunc(s.boxes, func(b *Sandbox) bool { return b.Session == session })
	if i < 0 {
		s.mu.Unlock()
		Refuse(w, http.StatusNotFound, "not_found", "Session not found")
		return
	}
	b := s.boxes[i]
	var c *command
	if len(below) > 1 && below[0] == "cmd" {
		c = b.commands[below[1]]
		below[1] = "CMD"
	}
	what := path.Join(append([]string{r.Method}, below...)...)
	switch {
	case b.Status == "snapshotting": // «Errors»: SANDBOX_SNAPSHOTTING
		Refuse(w, http.StatusUnprocessableEntity, "sandbox_snapshotting", "Sandbox is creating a snapshot")
	case b.Status != "running": // «Errors»: SANDBOX_STOPPED: a session that ended hears of nothing any more
		Refuse(w, http.StatusGone, "sandbox_stopped", "Sandbox has stopped execution and is no longer available")
	case what == "POST/stop":
		s.halt(b)
		answer(w, http.StatusOK, map[string]any{"session": s.sessionOf(b)})
	case what == "POST/extend-timeout":
		var in struct {
			Duration int64 `json:"duration"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		b.ends = b.ends.Add(time.Duration(in.Duration) * time.Millisecond)
		answer(w, http.StatusOK, map[string]any{"session": s.sessionOf(b)})
	case what == "POST/cmd":
		s.run(w, r, b)
		return
	case what == "POST/fs/write":
		s.mu.Unlock()
		unpack(w, r, b)
		return
	case c == nil:
		Refuse(w, http.StatusNotFound, "not_found", "Command not found")
	default:
		s.mu.Unlock()
		c.serve(w, r, what)
		return
	}
	s.mu.Unlock()
}

// unpack puts files into a sandbox («REST»: write-files: a gzipped tarball of that Content-Type, unpacked in the directory of x-cwd).
func unpack(w http.ResponseWriter, r *http.Request, b *Sandbox) {
	if r.Header.Get("Content-Type") != "application/gzip" {
		Refuse(w, http.StatusBadRequest, "bad_request", "Invalid request: content-type should be application/gzip")
		return
	}
	cmd := b.machine.Command("tar", "-xzf", "-", "-C", cmp.Or(r.Header.Get("X-Cwd"), b.Cwd))
	cmd.Stdin = r.Body
	if out, err := cmd.CombinedOutput(); err != nil {
		Refuse(w, http.StatusBadRequest, "bad_request", string(out))
		return
	}
	answer(w, http.StatusOK, map[string]any{})
}

// command is one of a session («SDK»: validators.ts, Command and LogLine).
type command struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Args    []string `json:"args"`
	Cwd     string   `json:"cwd"`
	Session string   `json:"sessionId"`
	Exit    *int     `json:"exitCode"`
	Started int64    `json:"startedAt"`

	mu    sync.Mutex
	more  *sync.Cond
	lines []logLine
	done  bool
	kill  func(syscall.Signal)

	typing sync.Mutex
	stdin  *os.File // nil = none, or closed
	typed  int
}

type logLine struct {
	Stream string `json:"stream"`
	Data   string `json:"data"`
}

// run starts a command, with s.mu held. With wait the answer is a stream: the command, its outputs where logs asks for them, and the command
// with its exit code («REST»: execute-a-command).
func (s *Server) run(w http.ResponseWriter, r *http.Request, b *Sandbox) {
	var in struct {
		Command     string
		Args        []string
		Wait, Logs  bool
		AttachStdin bool
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Command == "" {
		s.mu.Unlock()
		Refuse(w, http.StatusBadRequest, "bad_request", "Invalid request")
		return
	}
	c := &command{ID: "cmd_" + id(), Name: in.Command, Args: in.Args, Cwd: b.Cwd, Session: b.Session, Started: time.Now().UnixMilli()}
	c.more = sync.NewCond(&c.mu)
	err := run(b.machine, c, in.AttachStdin)
	b.commands[c.ID] = c
	s.mu.Unlock()
	if err != nil {
		Refuse(w, http.StatusInternalServerError, "internal_server_error", err.Error())
		return
	}
	if !in.Wait {
		c.tell(w)
		return
	}
	out := stream(w)
	out(map[string]any{"command": c.now(false)})
	c.follow(r, func(l logLine) {
		if in.Logs {
			out(l)
		}
	})
	if r.Context().Err() == nil {
		out(map[string]any{"command": c.now(true)})
	}
}

// stream answers with a line of JSON after the other.
func stream(w http.ResponseWriter) func(any) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	e, f := json.NewEncoder(w), http.NewResponseController(w)
	return func(v any) {
		if e.Encode(v) == nil {
			_ = f.Flush()
		}
	}
}

// now is the command as it is, its exit code only where it is to be told.
func (c *command) now(whole bool) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := map[string]any{"id": c.ID, "name": c.Name, "args": c.Args, "cwd": c.Cwd, "sessionId": c.Session, "exitCode": nil, "startedAt": c.Started}
	if whole && c.Exit != nil {
		m["exitCode"] = *c.Exit
	}
	return m
}

func (c *command) tell(w http.ResponseWriter) {
	answer(w, http.StatusOK, map[string]any{"command": c.now(true)})
}

// follow tells the outputs from their beginning to their end, or until nobody listens.
func (c *command) follow(r *http.Request, tell func(logLine)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer contextWakes(r, c)()
	for i := 0; ; {
		for ; i < len(c.lines); i++ {
			l := c.lines[i]
			c.mu.Unlock()
			tell(l)
			c.mu.Lock()
		}
		if c.done || r.Context().Err() != nil {
			return
		}
		c.more.Wait()
	}
}

// serve answers what is asked of a command that was started.
func (c *command) serve(w http.ResponseWriter, r *http.Request, what string) {
	switch what {
	case "GET/cmd/CMD":
		if r.URL.Query().Get("wait") == "true" {
			c.follow(r, func(logLine) {})
		}
		c.tell(w)
	case "GET/cmd/CMD/logs": // «REST»: stream-command-logs
		out := stream(w)
		c.follow(r, func(l logLine) { out(l) })
	case "POST/cmd/CMD/kill":
		var in struct {
			Signal int `json:"signal"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		c.kill(syscall.Signal(in.Signal))
		c.tell(w)
	case "POST/cmd/CMD/stdin":
		c.write(w, r)
	default:
		Refuse(w, http.StatusNotFound, "not_found", "Not Found")
	}
}

// patience is how long input waits for a command that doesn't read («REST»: write-to-command-stdin: 30 seconds; shorter here, so that it is
// met with).
const patience = 2 * time.Second

// write gives a command input («REST»: write-to-command-stdin: what came before the offset is skipped, an offset past it is a conflict; one
// that doesn't read is a 504, which tells bytesWritten as well; «SDK»: utils/pipe-stdin.ts: command_stdin_unavailable is one that takes none
// any more).
func (c *command) write(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Data   string
		Offset *int
		Close  bool
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		Refuse(w, http.StatusBadRequest, "bad_request", "Invalid request")
		return
	}
	c.typing.Lock()
	defer c.typing.Unlock()
	if c.stdin == nil {
		Refuse(w, http.StatusBadRequest, "command_stdin_unavailable", "Command has no stdin attached, or it was closed")
		return
	}
	data := in.Data
	if in.Offset != nil && data != "" {
		if *in.Offset > c.typed {
			Refuse(w, http.StatusConflict, "conflict", "Offset is past the data received")
			return
		}
		data = data[min(len(data), c.typed-*in.Offset):]
	}
	_ = c.stdin.SetWriteDeadline(time.Now().Add(patience))
	n, err := io.WriteString(c.stdin, data)
	c.typed += n
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		answer(w, http.StatusGatewayTimeout, map[string]any{"error": map[string]any{"code": "command_stdin_timeout", "message": "The command is not reading stdin", "bytesWritten": c.typed}})
		return
	case err != nil:
		Refuse(w, http.StatusBadRequest, "command_stdin_unavailable", "The command does not accept stdin any more")
		return
	}
	if in.Close {
		_ = c.stdin.Close()
		c.stdin = nil
	}
	answer(w, http.StatusOK, map[string]any{"bytesWritten": c.typed})
}
