package singularity

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// leaveTime is how long a program in an instance may take to put things in order and go, once its input is closed.
const leaveTime = 3 * time.Second

// stream is a program in an instance: its input and output are one stream of bytes.
type stream struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	errs tail
	done chan struct{} // closed when the command that leads to it has ended
	once sync.Once
}

// start runs the command with its input and output as a stream.
func (c *client) start(args []string) (*stream, error) {
	s := &stream{errs: tail{most: keptErrors}, cmd: c.command(c.environ(passed...), args...), done: make(chan struct{})}
	s.cmd.Stderr = &s.errs
	s.cmd.WaitDelay = time.Second // what goes on in the instance may hold the errors open
	var w *os.File
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a program in the instance: %w", err)
	}
	if s.out, w, err = os.Pipe(); err != nil {
		_ = s.in.Close()
		return nil, fmt.Errorf("start a program in the instance: %w", err)
	}
	s.cmd.Stdout = w
	err = s.cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = s.out.Close()
		return nil, fmt.Errorf("start a program in the instance: %w", err)
	}
	go func() { // Close waits for it
		_ = s.cmd.Wait()
		close(s.done)
	}()
	return s, nil
}

func (s *stream) Read(b []byte) (int, error) { return s.out.Read(b) }

func (s *stream) Write(b []byte) (int, error) { return s.in.Write(b) }

// Close ends the input of the program, which is how it learns that it isn't needed, gives it time to put things in order, and ends it.
func (s *stream) Close() error {
	s.once.Do(func() {
		_ = s.in.Close()
		timer := time.NewTimer(leaveTime)
		defer timer.Stop()
		select {
		case <-s.done:
		case <-timer.C:
			kill(s.cmd)
		}
		<-s.done
		_ = s.out.Close()
	})
	return nil
}

// said is what was printed as errors. The stream is closed.
func (s *stream) said() string {
	<-s.done
	return s.errs.String()
}
