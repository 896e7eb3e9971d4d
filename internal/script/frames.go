package script

import (
	"bytes"
	"io"
)

// frames is a stream of text out of which tracebacks speak of the script as it was sent: its path is cut to its name, and the
// frames of the stub are left out. What is no whole line is held, a long one is passed on.
type frames struct {
	dst     io.Writer
	dir     []byte // the staging directory
	script  []byte // the script's path
	module  []byte // the stub's path
	stub    []byte // start of the line of a frame of the stub
	held    []byte
	dropped bool // inside a frame of the stub
	indent  int
}

// heldMax is the longest line that is looked at whole; paths are far shorter.
const heldMax = 8 << 10

func newFrames(dst io.Writer, dir string) *frames {
	return &frames{
		dst: dst, dir: []byte(dir), script: []byte(dir + "/" + scriptName), module: []byte(dir + "/" + stubName),
		stub: []byte(`File "` + dir + "/" + stubName + `"`),
	}
}

func (f *frames) Write(p []byte) (int, error) {
	n := len(p)
	if len(f.held) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		f.held = append(f.held, p[:end]...)
		p = p[end:]
		if f.held[len(f.held)-1] != '\n' && len(f.held) < heldMax {
			return n, nil
		}
		line := f.held
		f.held = nil
		if err := f.lines(line); err != nil {
			return 0, err
		}
	}
	whole := p[:bytes.LastIndexByte(p, '\n')+1]
	rest := p[len(whole):]
	if len(rest) >= heldMax {
		whole, rest = p, nil
	}
	f.held = append(f.held, rest...)
	if err := f.lines(whole); err != nil {
		return 0, err
	}
	return n, nil
}

// Close passes on what is held.
func (f *frames) Close() error {
	line := f.held
	f.held = nil
	return f.lines(line)
}

func (f *frames) lines(p []byte) error {
	if !f.dropped && !bytes.Contains(p, f.dir) {
		if len(p) == 0 {
			return nil
		}
		_, err := f.dst.Write(p)
		return err
	}
	var out []byte
	for line := range bytes.Lines(p) {
		text := bytes.TrimLeft(line, " |+\t") // groups of exceptions are drawn with | and +
		indent := len(line) - len(text)
		if f.dropped && indent > f.indent {
			continue
		}
		if f.dropped = bytes.HasPrefix(text, f.stub); f.dropped {
			f.indent = indent
			continue
		}
		line = bytes.ReplaceAll(line, f.script, []byte(scriptName))
		out = append(out, bytes.ReplaceAll(line, f.module, []byte(stubName))...) // where an exception names it
	}
	if len(out) == 0 {
		return nil
	}
	_, err := f.dst.Write(out)
	return err
}
