package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strings"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
)

// maxLinks is how many links one name may lead through; Linux gives up at the same number.
const maxLinks = 40

// Resolve gives the absolute path that name means from dir. ~ and ~user are expanded at its beginning (an unknown user's stays as
// written, as in a shell), dot segments are removed the way the kernel does, that is after the link before them was followed, and
// symlinks of the longest existing prefix are followed. From there on names are taken as they are. dir "" is the home.
func (f *FS) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	switch {
	case name == "":
		return "", &fs.PathError{Op: "resolve", Path: `""`, Err: errors.New("the path is empty")}
	case strings.ContainsRune(name, 0):
		return "", &fs.PathError{Op: "resolve", Path: Display(name), Err: errors.New("the path contains a NUL byte")}
	}
	base := string(dir)
	if base == "" {
		base = f.home
	}
	path, err := f.resolve(name, base)
	if err != nil {
		return "", failure("resolve", name, err)
	}
	return environment.Path(path), nil
}

// resolve is Resolve without its checks. With base "" the name must be absolute and ~ means nothing.
func (f *FS) resolve(name, base string) (string, error) {
	if base != "" {
		expanded, err := f.expand(name)
		if err != nil {
			return "", err
		}
		name = expanded
		if !isAbs(name) {
			if !isAbs(base) {
				return "", fmt.Errorf("the directory it is relative to, %q, isn't absolute", base)
			}
			name = base + string(os.PathSeparator) + name
		}
	}
	return followLinks(name)
}

// expand replaces a leading ~ or ~user by that user's home.
func (f *FS) expand(name string) (string, error) {
	if name == "" || name[0] != '~' {
		return name, nil
	}
	end := strings.IndexFunc(name, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	if end < 0 {
		end = len(name)
	}
	who, rest := name[1:end], name[end:]
	if who == "" {
		if f.home == "" {
			return "", errors.New("~ can't be expanded: the home directory is unknown")
		}
		return f.home + rest, nil
	}
	u, err := user.Lookup(who)
	if err != nil || !isAbs(u.HomeDir) {
		return name, nil
	}
	return u.HomeDir + rest, nil
}

// followLinks removes dot segments and follows links. A part that can't be looked at (missing, no permission, too long) is kept as
// it is, and the operation on the result says what is wrong with it.
func followLinks(name string) (string, error) {
	path, rest := splitRoot(name)
	root := path
	links := 0
	for rest != "" {
		var part string
		part, rest = cutSeparator(rest)
		switch part {
		case "", ".":
			continue
		case "..":
			path = parentOf(path, root)
			continue
		}
		next := childOf(path, part)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			path = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil || target == "" {
			path = next
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if isAbs(target) {
			path, target = splitRoot(target)
			root = path
		}
		rest = target + string(os.PathSeparator) + rest
	}
	return path, nil
}

func cutSeparator(s string) (part, rest string) {
	for i := 0; i < len(s); i++ {
		if os.IsPathSeparator(s[i]) {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func childOf(path, name string) string {
	if os.IsPathSeparator(path[len(path)-1]) {
		return path + name
	}
	return path + string(os.PathSeparator) + name
}

// parentOf is the directory of a path that holds no links; root is its own parent.
func parentOf(path, root string) string {
	for i := len(path) - 1; i >= len(root); i-- {
		if os.IsPathSeparator(path[i]) {
			return path[:i]
		}
	}
	return root
}
