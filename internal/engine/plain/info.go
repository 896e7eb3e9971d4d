package plain

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// look prints what Stat reads.
const look = `LC_ALL=C TZ=UTC0 stat -L -c '%s %f %u %g %h %d %i %Y %y' "$P" 2>/dev/null || { [ -e "$P" ] || why "$P"; exit 1; }`

// Stat follows links.
func (f *files) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	out, err := f.ask(ctx, "look at "+string(p), "P="+quote(p)+"; "+look, nil)
	if err != nil {
		return environment.FileInfo{}, err
	}
	return readInfo(p, string(out))
}

func readInfo(p environment.Path, text string) (environment.FileInfo, error) {
	i := environment.FileInfo{Path: p}
	var raw uint32
	var seconds int64
	n, err := fmt.Sscanf(text, "%d %x %d %d %d %d %d %d", &i.Size, &raw, &i.UID, &i.GID, &i.Links, &i.Device, &i.Inode, &seconds)
	if n < 8 {
		return i, fmt.Errorf("look at %s: what stat prints there is not understood: %w", p, err)
	}
	i.ModTime = time.Unix(seconds, 0)
	if fields := strings.Fields(text); len(fields) >= 10 {
		if t, err := time.Parse("2006-01-02 15:04:05", fields[8]+" "+fields[9]); err == nil {
			i.ModTime = t.Local()
		}
	}
	i.Mode = mode(raw)
	return i, nil
}

// mode turns the bits of a Unix system into those of Go.
func mode(raw uint32) fs.FileMode {
	m := fs.FileMode(raw & 0o777)
	for _, row := range []struct {
		mask, value uint32
		mode        fs.FileMode
	}{
		{0o170000, 0o040000, fs.ModeDir}, {0o170000, 0o120000, fs.ModeSymlink}, {0o170000, 0o010000, fs.ModeNamedPipe},
		{0o170000, 0o140000, fs.ModeSocket}, {0o170000, 0o060000, fs.ModeDevice}, {0o170000, 0o020000, fs.ModeDevice | fs.ModeCharDevice},
		{0o4000, 0o4000, fs.ModeSetuid}, {0o2000, 0o2000, fs.ModeSetgid}, {0o1000, 0o1000, fs.ModeSticky},
	} {
		if raw&row.mask == row.value {
			m |= row.mode
		}
	}
	return m
}
