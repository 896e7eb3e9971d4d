package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Defaults of Rotating (OBS-6).
const (
	DefaultMaxBytes = 50 << 20
	DefaultKeep     = 5
)

// freshFor is how long the open file is trusted to be the one at Path, and of the size it had. Another process may have rotated it away, and a
// line must not go into a file that Keep rotations later is deleted: far more than this takes.
const freshFor = 100 * time.Millisecond

// Rotating is a log file that any number of processes append lines to. A line is one write to a file opened for
// appending, so lines never mix. Path names the file; the other fields work as zero. Its directory is made (0700) if
// need be. All methods may be called concurrently.
type Rotating struct {
	Path     string
	MaxBytes int64       // above it the file is renamed to Path.1 and a new one begun; 0: DefaultMaxBytes
	Keep     int         // files kept, the current one included; 0: DefaultKeep
	Perm     fs.FileMode // 0: DefaultPerm

	mu      sync.Mutex
	file    *os.File
	size    int64 // as it was when the file was looked at last, and what was written here since
	checked time.Time
	torn    bool  // the file ends within a line
	retryAt int64 // no rotation below this size, after one has failed
	buf     []byte
}

// Write appends p, a whole line, in one write. A missing line break at its end is added. It makes a Rotating fit for
// slog and other makers of lines.
func (r *Rotating) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prepare(int64(len(p)) + 1); err != nil {
		return 0, fmt.Errorf("append to %s: %w", r.Path, err)
	}
	line := p
	if r.torn || len(p) == 0 || p[len(p)-1] != '\n' {
		r.buf = r.buf[:0]
		if r.torn {
			r.buf = append(r.buf, '\n')
		}
		r.buf = append(r.buf, p...)
		if len(p) == 0 || p[len(p)-1] != '\n' {
			r.buf = append(r.buf, '\n')
		}
		line = r.buf
	}
	n, err := r.file.Write(line)
	r.torn = err != nil && (n > 0 || r.torn)
	if err != nil {
		return 0, fmt.Errorf("append to %s: %w", r.Path, err)
	}
	r.size += int64(n)
	return len(p), nil
}

// Ready reports whether a line can be appended now, as far as opening the file tells.
func (r *Rotating) Ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prepare(1); err != nil {
		return fmt.Errorf("append to %s: %w", r.Path, err)
	}
	return nil
}

// Close closes the file. A later Write opens it again.
func (r *Rotating) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.close()
}

func (r *Rotating) close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// prepare sees to it that the file is open, is the one at Path, and has room for n more bytes.
func (r *Rotating) prepare(n int64) error {
	now := time.Now()
	if r.file != nil && now.Sub(r.checked) > freshFor {
		size, same := linked(r.file, r.Path)
		if !same {
			_ = r.close()
		}
		r.size, r.checked = size, now
	}
	if r.file == nil {
		if err := r.open(); err != nil {
			return err
		}
		r.checked = now
	}
	limit := r.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	if r.size == 0 || r.size+n <= max(limit, r.retryAt) {
		return nil
	}
	err := r.rotate()
	if err != nil || r.size+n > limit && r.size > 0 {
		r.retryAt = r.size + limit/8 // a line in a file too large is better than none
	} else {
		r.retryAt = 0
	}
	if r.file == nil {
		return errors.Join(err, r.open())
	}
	return nil
}

func (r *Rotating) open() error {
	perm := r.Perm
	if perm == 0 {
		perm = DefaultPerm
	}
	flags := os.O_RDWR | os.O_APPEND | os.O_CREATE
	f, err := os.OpenFile(r.Path, flags, perm)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(r.Path, flags, perm)
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	r.file, r.size, r.torn = f, info.Size(), false
	if r.size > 0 { // a process may have died within its line
		last := []byte{0}
		_, err := f.ReadAt(last, r.size-1)
		r.torn = err == nil && last[0] != '\n'
	}
	return nil
}

// rotate moves the files on by one, unless another process has done so, and opens the new one.
func (r *Rotating) rotate() error {
	held, err := Lock(context.Background(), r.Path+lockSuffix)
	if err != nil {
		return err
	}
	defer held.Unlock()
	_, mine := linked(r.file, r.Path)
	_ = r.close() // Windows renames no open file
	if mine {
		err = r.shift()
	}
	return errors.Join(err, r.open())
}

// shift renames Path to Path.1, Path.1 to Path.2 and so on; the oldest is gone.
func (r *Rotating) shift() error {
	keep := r.Keep
	if keep <= 0 {
		keep = DefaultKeep
	}
	if keep == 1 {
		return os.Remove(r.Path)
	}
	for i := keep - 1; i > 1; i-- {
		if err := os.Rename(r.nth(i-1), r.nth(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(r.Path, r.nth(1))
}

func (r *Rotating) nth(i int) string { return r.Path + "." + strconv.Itoa(i) }

// linked gives the size of f, what other processes wrote included, and reports whether f is still what path names.
func linked(f *os.File, path string) (size int64, same bool) {
	here, err := f.Stat()
	if err != nil {
		return 0, false
	}
	there, err := os.Stat(path)
	return here.Size(), err == nil && os.SameFile(here, there)
}
