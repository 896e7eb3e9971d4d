package ssh

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/pkg/sftp"

	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// Exit codes of the lines below, beside those that a shell gives itself.
const (
	codeMissing    = 90 // the binary isn't there
	codeUnverified = 91 // nothing there can hash it
	codeDiffers    = 92
	codeNoExec     = 126
	codeNotFound   = 127
)

// carryTime bounds bringing the binary over.
const carryTime = 10 * time.Minute

// cellars are where the binary may lie, as a POSIX shell there reads it; u is the user's number. In those that others can write to the
// directory has to be the user's own.
var cellars = []string{
	`"$HOME/.cache/hermes"`,
	`"${TMPDIR:-/tmp}/hermes-$u"`,
	`"/dev/shm/hermes-$u"`,
}

// Lines for the host go through the user's login shell, which may be csh, fish or a restricted one: a line is `sh -c` and one text in
// single quotes that has no quote, backslash, line break or ! before a word in it, which all of these read alike.
func forShell(script string) string { return "sh -c '" + script + "'" }

// launch is the line that becomes the binary, where it is in one of the first cellars from a number on.
func launch(hash string, from int) string {
	var s strings.Builder
	s.WriteString("h=" + hash + "; ")
	for i, d := range cellars {
		if i < from {
			continue
		}
		if i > 0 {
			s.WriteString("u=${u:-$(id -u)}; ")
		}
		fmt.Fprintf(&s, `d=%s; if test -x "$d/resident-$h" && test -O "$d" && test ! -h "$d"; then : >"$d/used-$h"; exec "$d/resident-$h" resident; fi; `, d)
	}
	s.WriteString(`echo "$(uname -s) $(uname -m)" >&2; exit 90`)
	return forShell(s.String())
}

// cellar is a directory on the host.
type cellar struct {
	c      *connection
	number int
	hash   string
	temp   string // name of the file while it isn't whole
}

// at is a line for the host that starts in the cellar.
func (l cellar) at(script string) string {
	return forShell(`umask 077; u=$(id -u); h=` + l.hash + `; f=` + l.temp + `; d=` + cellars[l.number] + `; cd "$d" || exit 1; ` + script)
}

// carry brings the binary into a cellar: under another name first, in place only when its content is right.
func (c *connection) carry(ctx context.Context, p brought.Program, number int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, carryTime, fmt.Errorf("the hermes binary was not there within %v", carryTime))
	defer cancel()
	var r [6]byte
	_, _ = rand.Read(r[:])
	l := cellar{c, number, p.Hash, ".resident-" + p.Hash + "." + hex.EncodeToString(r[:])}
	dir, _, err := c.do(ctx, forShell(`umask 077; u=$(id -u); d=`+cellars[number]+`; mkdir -p "$d" && test -O "$d" && test ! -h "$d" && chmod 700 "$d" && cd "$d" && pwd -P`), nil)
	dir = strings.TrimSuffix(dir, "\n")
	if i := strings.LastIndexByte(dir, '\n'); i >= 0 { // after what start-up files print
		dir = dir[i+1:]
	}
	if err != nil || !path.IsAbs(dir) {
		return errors.Join(fmt.Errorf("make a directory for the hermes binary: %q is none", dir), err)
	}
	if err := l.upload(ctx, p, dir); err != nil {
		_, _, _ = c.do(ctx, l.at(`rm -f "$f"`), nil)
		return fmt.Errorf("bring the hermes binary into %s: %w", dir, err)
	}
	return nil
}

// upload writes the file, verifies it and gives it its name; what nobody used for 30 days is removed.
func (l cellar) upload(ctx context.Context, p brought.Program, dir string) error {
	err := l.sftp(ctx, p, path.Join(dir, l.temp))
	if err == nil {
		err = l.verify(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	f, oerr := os.Open(p.Path)
	if oerr != nil {
		return oerr
	}
	defer f.Close()
	if _, _, cerr := l.c.do(ctx, l.at(`cat >"$f" && chmod 700 "$f"`), f); cerr != nil {
		return fmt.Errorf("by SFTP: %w; by cat: %w", err, cerr)
	}
	return l.verify(ctx)
}

// sftp writes the file by SFTP.
func (l cellar) sftp(ctx context.Context, p brought.Program, to string) error {
	return l.c.within(ctx, func() error {
		s, err := sftp.NewClient(l.c.Client, sftp.UseConcurrentWrites(true))
		if err != nil {
			return fmt.Errorf("start SFTP: %w", err)
		}
		defer s.Close()
		from, err := os.Open(p.Path)
		if err != nil {
			return err
		}
		defer from.Close()
		f, err := s.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		_, err = f.ReadFrom(from)
		if err == nil {
			err = f.Chmod(0o700)
		}
		return errors.Join(err, f.Close())
	})
}

// verify has the host hash what it was given. A host that has no program for that gives it back to be hashed here.
func (l cellar) verify(ctx context.Context) error {
	_, code, err := l.c.do(ctx, l.at(hashing+settle), nil)
	switch code {
	case codeDiffers:
		return errors.New("what has arrived is not what was sent")
	case codeUnverified:
		return l.verifyHere(ctx)
	}
	return err
}

// hashing compares what has arrived, with whatever the host has for that; settle gives it its name.
const (
	hashing = `s=$(sha256sum "$f" 2>/dev/null || shasum -a 256 "$f" 2>/dev/null || openssl dgst -sha256 -r "$f" 2>/dev/null); ` +
		`case "$s" in $h*) ;; "") exit 91;; *) exit 92;; esac; `
	settle = `chmod 700 "$f" && mv -f "$f" "resident-$h" && : >"used-$h"; x=$?; ` +
		`for o in $(find . -name "used-*" -mtime +30 2>/dev/null); do rm -f "$o" "resident-${o#./used-}"; done; exit $x`
)

func (l cellar) verifyHere(ctx context.Context) error {
	s, err := l.c.start(ctx, l.at(`exec cat "$f"`))
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = l.c.within(ctx, func() error {
		s.closeInput(nil)
		_, err := io.Copy(sum, s.out)
		return err
	})
	_ = s.Close()
	if err != nil {
		return fmt.Errorf("read the hermes binary back: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != l.hash {
		return errors.New("what has arrived is not what was sent")
	}
	_, _, err = l.c.do(ctx, l.at(settle), nil)
	return err
}
