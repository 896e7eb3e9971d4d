package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// diskFault is an error of SQLite with what is behind it: its own words for a full disk may be "disk I/O error (4874)".
type diskFault struct {
	file string
	says string // what is wrong, and how to mend it
	err  error
}

func (f *diskFault) Error() string { return fmt.Sprintf("%s: %s (%v)", f.file, f.says, f.err) }

func (f *diskFault) Unwrap() error { return f.err }

// What is said of a disk that fails.
const (
	saysFull     = "no space is left there: free some, or have HERMES_HOME on another disk"
	saysLocked   = "another process has held it for too long: end that one, or wait"
	saysRefused  = "it can't be written, %v: give yourself its directory and the file, or have HERMES_HOME elsewhere"
	saysUnstable = "the disk fails; `hermes doctor` checks the file, and have HERMES_HOME elsewhere if it goes on"
)

// plainly says what is behind an error of the disk. Others stay as they are.
func (o Options) plainly(err error) error {
	if _, said := errors.AsType[*diskFault](err); said || o.File == "" {
		return err
	}
	says := ""
	switch primary(err) {
	case codeFull:
		says = saysFull
	case codeBusy, codeLocked:
		says = saysLocked
	case codeIO, codeCantOpen, codePerm, codeReadOnly:
		says = reason(tryWrite(filepath.Dir(o.File)), o.File)
	default:
		return err
	}
	return &diskFault{o.File, says, err}
}

// reason says why a file can't be written, by what came of writing beside it.
func reason(beside error, file string) string {
	if beside == nil {
		beside = opened(file)
	}
	switch {
	case errors.Is(beside, syscall.ENOSPC), errors.Is(beside, errQuota):
		return saysFull
	case beside != nil:
		if p, ok := errors.AsType[*fs.PathError](beside); ok {
			beside = p.Err
		}
		return fmt.Sprintf(saysRefused, beside)
	}
	return saysUnstable
}

// opened tells why a file can't be opened for writing.
func opened(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// tried is how much is written to see whether there is room: SQLite takes 32 KiB at a time for its index of the log.
const tried = 64 << 10

// tryWrite writes a file into a directory and takes it away again.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".room-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, tried))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
