package daytonatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"
)

// queued is how many pieces of output wait for a reader; one who is slower is hung up on («Pseudo Terminal»: slow consumers are dropped).
const queued = 256

// pty is a shell on a terminal («Pseudo Terminal»).
type pty struct {
	cmd    *exec.Cmd
	master *os.File

	mu      sync.Mutex
	readers map[*reader]bool
	over    bool
	code    int
}

type reader struct {
	ws   *conn
	send chan []byte
}

func (s *service) createPTY(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ID         string
		Cols, Rows uint16
		Cwd        string
		Envs       map[string]string
	}
	if !body(w, r, &q) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case q.ID == "":
		answer(w, http.StatusBadRequest, map[string]string{"error": "session ID is required"})
		return
	case s.ptys[q.ID] != nil:
		answer(w, http.StatusConflict, map[string]string{"error": fmt.Sprintf("PTY session with ID '%s' already exists", q.ID)})
		return
	case q.Cols > 1000 || q.Rows > 1000:
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid value for cols - must be less than 1000"})
		return
	}
	p := &pty{readers: map[*reader]bool{}}
	if err := p.start(q.Cols, q.Rows); err != nil {
		answer(w, http.StatusInternalServerError, map[string]string{"error": "failed to start PTY session"})
		return
	}
	s.ptys[q.ID] = p
	go func() {
		p.wait()
		s.mu.Lock()
		delete(s.ptys, q.ID)
		s.mu.Unlock()
	}()
	answer(w, http.StatusCreated, map[string]string{"sessionId": q.ID})
}

// start starts an interactive login shell.
func (p *pty) start(cols, rows uint16) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	fd := int(master.Fd()) //nolint:gosec // it is small
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	}
	if err != nil {
		return err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer slave.Close()
	p.cmd = exec.Command(shell(), "-i", "-l")
	p.cmd.Dir, p.cmd.Env = "/root", append(os.Environ(), "TERM=xterm-256color")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.master = master
	return p.cmd.Start()
}

// wait hands on what is printed, until the shell ends: then its readers are told how.
func (p *pty) wait() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 32<<10)
		for {
			n, err := p.master.Read(buf)
			if err != nil {
				return
			}
			p.broadcast(append([]byte(nil), buf[:n]...))
		}
	}()
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	p.mu.Lock()
	p.over, p.code = true, code
	for r := range p.readers {
		p.drop(r, code)
	}
	p.mu.Unlock()
	_ = p.master.Close()
	<-done
}

// drop tells a reader how the shell ended.
func (p *pty) drop(r *reader, code int) {
	delete(p.readers, r)
	close(r.send)
	word, _ := json.Marshal(map[string]int{"exitCode": code})
	status := websocket.StatusNormalClosure
	if code != 0 {
		status = websocket.StatusInternalError
	}
	go r.ws.close(status, string(word))
}

func (p *pty) broadcast(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.readers {
		select {
		case r.send <- b:
		default:
			delete(p.readers, r)
			close(r.send)
			go r.ws.close(websocket.StatusPolicyViolation, "slow consumer")
		}
	}
}

// connectPTY joins a terminal. The first word is whether it is there, as text; what is printed comes as binary.
func (s *service) connectPTY(w http.ResponseWriter, r *http.Request) {
	ws, err := accept(w, r)
	if err != nil {
		return
	}
	s.mu.Lock()
	p := s.ptys[r.PathValue("pty")]
	s.mu.Unlock()
	say := func(word map[string]string) {
		b, _ := json.Marshal(word)
		_ = ws.write(opText, b)
	}
	if p == nil {
		say(map[string]string{"type": "control", "status": "error", "error": "Failed to connect to PTY session: PTY session not found"})
		ws.close(websocket.StatusNormalClosure, "")
		return
	}
	me := &reader{ws, make(chan []byte, queued)}
	say(map[string]string{"type": "control", "status": "connected"})
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		ws.close(websocket.StatusInternalError, fmt.Sprintf(`{"exitCode":%d}`, p.code))
		return
	}
	p.readers[me] = true
	p.mu.Unlock()
	go func() {
		for b := range me.send {
			if ws.write(opBinary, b) != nil {
				return
			}
		}
	}()
	for {
		b, err := ws.read(64 << 10) // «Pseudo Terminal»: what is sent at once is at most 64 KiB
		if err != nil {
			break
		}
		if _, err := p.master.Write(b); err != nil {
			break
		}
	}
	p.mu.Lock()
	if p.readers[me] {
		delete(p.readers, me)
		close(me.send)
	}
	p.mu.Unlock()
	ws.close(websocket.StatusNormalClosure, "")
}
