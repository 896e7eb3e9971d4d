package daytonatest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// session is a shell that runs one command after the other («Process and Code Execution»: sessions).
type session struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	dir  string
	turn sync.Mutex // held while a command runs

	mu       sync.Mutex
	commands map[string]*running
	gone     chan struct{}
}

// running is a command of a session.
type running struct {
	dir  string
	text string

	mu     sync.Mutex
	log    []byte
	news   chan struct{} // closed and replaced when there is more
	code   *int
	in     *os.File // nil = it isn't there yet, or any more
	opened chan struct{}
}

// shell is the first of these that is there («Process and Code Execution»: sessions run in the shell of the sandbox).
func shell() string {
	for _, s := range []string{"/usr/bin/zsh", "/bin/zsh", "/usr/bin/bash", "/bin/bash"} {
		if _, err := os.Stat(s); err == nil {
			return s
		}
	}
	return "/bin/sh"
}

func (s *service) createSession(w http.ResponseWriter, r *http.Request) {
	var q struct{ SessionID string }
	if !body(w, r, &q) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[q.SessionID] != nil {
		problem(w, r, http.StatusConflict, "CONFLICT", "session already exists")
		return
	}
	dir, err := os.MkdirTemp("/tmp", "daytona-session-")
	cmd := exec.Command(shell())
	cmd.Dir, cmd.SysProcAttr = "/root", &syscall.SysProcAttr{Setpgid: true}
	var in io.WriteCloser
	if err == nil {
		in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		problem(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error())
		return
	}
	n := &session{cmd: cmd, in: in, dir: dir, commands: map[string]*running{}, gone: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(n.gone) }()
	s.sessions[q.SessionID] = n
	w.WriteHeader(http.StatusCreated)
}

// find gives the session, and the command if one is named.
func (s *service) find(w http.ResponseWriter, r *http.Request) (*session, *running) {
	s.mu.Lock()
	n := s.sessions[r.PathValue("session")]
	s.mu.Unlock()
	if n == nil {
		problem(w, r, http.StatusNotFound, "NOT_FOUND", "session not found")
		return nil, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.commands[r.PathValue("command")]
	if c == nil && r.PathValue("command") != "" {
		problem(w, r, http.StatusNotFound, "NOT_FOUND", "command not found")
		return nil, nil
	}
	return n, c
}

// deleteSession ends the shell and what it started, first kindly.
func (s *service) deleteSession(w http.ResponseWriter, r *http.Request) {
	n, _ := s.find(w, r)
	if n == nil {
		return
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, pid := range tree(n.cmd.Process.Pid) {
			_ = syscall.Kill(pid, signal)
		}
		select {
		case <-n.gone:
		case <-time.After(200 * time.Millisecond):
		}
	}
	s.mu.Lock()
	delete(s.sessions, r.PathValue("session"))
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// tree is a process and all below it.
func tree(root int) []int {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			parents[parent] = append(parents[parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, parents[all[i]]...)
	}
	return all
}

// exec has the shell read a command from a file. Its outputs go line by line into a log, each line behind three bytes that name the
// output; zero bytes get lost, and a last line without an end has one afterwards. Its input never ends («toolbox»: runAsync).
func (s *service) exec(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Command  string
		RunAsync bool
		Suppress bool `json:"suppressInputEcho"`
	}
	n, _ := s.find(w, r)
	if n == nil || !body(w, r, &q) {
		return
	}
	if strings.TrimSpace(q.Command) == "" || !q.RunAsync {
		problem(w, r, http.StatusBadRequest, "BAD_REQUEST", "command cannot be empty")
		return
	}
	id := uuid()
	c := &running{dir: filepath.Join(n.dir, id), text: q.Command, news: make(chan struct{}), opened: make(chan struct{})}
	err := os.Mkdir(c.dir, 0o755) //nolint:gosec // as the toolbox does
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "cmd"), []byte(q.Command), 0o600)
	}
	for _, p := range []string{"in", "out", "err", "code"} {
		if err == nil {
			err = syscall.Mkfifo(filepath.Join(c.dir, p), 0o600)
		}
	}
	if err != nil {
		problem(w, r, http.StatusBadRequest, "BAD_REQUEST", "failed to create log directory: "+err.Error())
		return
	}
	n.mu.Lock()
	n.commands[id] = c
	n.mu.Unlock()
	go c.run(n)
	answer(w, http.StatusAccepted, map[string]any{"cmdId": id})
}

// run has the shell run it, once it is its turn.
func (c *running) run(n *session) {
	n.turn.Lock()
	defer n.turn.Unlock()
	var outputs sync.WaitGroup
	for name, mark := range map[string]string{"out": "\x01\x01\x01", "err": "\x02\x02\x02"} {
		outputs.Go(func() { c.label(filepath.Join(c.dir, name), mark) })
	}
	go func() {
		in, _ := os.OpenFile(filepath.Join(c.dir, "in"), os.O_WRONLY, 0)
		c.mu.Lock()
		c.in = in
		c.mu.Unlock()
		close(c.opened)
	}()
	if _, err := fmt.Fprintf(n.in, "cd /root; { . %[1]s/cmd; } <%[1]s/in >%[1]s/out 2>%[1]s/err; echo $? >%[1]s/code\n", c.dir); err != nil {
		return
	}
	code := -1
	if b, err := os.ReadFile(filepath.Join(c.dir, "code")); err == nil {
		code, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	outputs.Wait()
	<-c.opened
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.in.Close()
	c.in, c.code = nil, &code
	close(c.news)
	c.news = make(chan struct{})
}

// label puts the lines of an output into the log.
func (c *running) label(from, mark string) {
	f, err := os.Open(from)
	if err != nil {
		return
	}
	defer f.Close()
	var held []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		held = append(held, bytes.ReplaceAll(buf[:n], []byte{0}, nil)...)
		for {
			line, rest, whole := bytes.Cut(held, []byte("\n"))
			if !whole {
				break
			}
			c.add(mark + string(line) + "\n")
			held = rest
		}
		if err != nil {
			if len(held) > 0 {
				c.add(mark + string(held) + "\n")
			}
			return
		}
	}
}

func (c *running) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, line...)
	close(c.news)
	c.news = make(chan struct{})
}

// command tells how one stands: without an exit code it runs.
func (s *service) command(w http.ResponseWriter, r *http.Request) {
	_, c := s.find(w, r)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v := map[string]any{"id": r.PathValue("command"), "command": c.text}
	if c.code != nil {
		v["exitCode"] = *c.code
	}
	answer(w, http.StatusOK, v)
}

// input writes to a command; a line has an end afterwards («toolbox»: SendInput; 410 after its end).
func (s *service) input(w http.ResponseWriter, r *http.Request) {
	_, c := s.find(w, r)
	var q struct{ Data string }
	if c == nil || !body(w, r, &q) {
		return
	}
	c.mu.Lock()
	code := c.code
	c.mu.Unlock()
	if code != nil {
		problem(w, r, http.StatusGone, "GONE", fmt.Sprintf("command has already completed with exit code %d", *code))
		return
	}
	if !strings.HasSuffix(q.Data, "\n") {
		q.Data += "\n"
	}
	<-c.opened
	c.mu.Lock()
	in := c.in
	c.mu.Unlock()
	if in == nil {
		problem(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", "failed to open input pipe")
		return
	}
	if _, err := io.WriteString(in, q.Data); err != nil {
		problem(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", "failed to write to input pipe: "+err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// logs gives the log from its beginning, and with follow what comes, up to the end of the command («Log Streaming»).
func (s *service) logs(w http.ResponseWriter, r *http.Request) {
	n, c := s.find(w, r)
	if c == nil {
		return
	}
	if r.Header.Get("Upgrade") != "websocket" {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, _ = w.Write(c.log)
		return
	}
	ws, err := accept(w, r)
	if err != nil {
		return
	}
	defer ws.close(websocket.StatusNormalClosure, "")
	left := make(chan struct{})
	go func() { defer close(left); ws.readUntilEnd() }()
	for at := 0; ; {
		c.mu.Lock()
		more, news, code := c.log[at:min(len(c.log), at+4096)], c.news, c.code
		c.mu.Unlock()
		switch {
		case len(more) > 0:
			if ws.write(opBinary, more) != nil {
				return
			}
			at += len(more)
			continue
		case code != nil || r.URL.Query().Get("follow") != "true":
			return
		}
		select {
		case <-news:
		case <-left:
			return
		case <-n.gone:
			return
		}
	}
}
