//go:build linux

package apptainertest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// sifHead begins every SIF file.
const sifHead = "#!/usr/bin/env run-singularity\n"

func (a at) build(args []string) error {
	p, err := parse(args, []string{"--arch"}, []string{"--force", "--sandbox", "--fakeroot", "--disable-cache", "--no-https"})
	switch {
	case err != nil:
		return err
	case len(p.rest) != 2:
		return usageError("accepts 2 arg(s)")
	case a.NoBuild:
		return fatal("While performing build: while creating squashfs: mksquashfs command failed")
	}
	to, from := p.rest[0], p.rest[1]
	if _, err := os.Stat(to); err == nil && !p.has("--force") {
		return fatal("While checking build target: build target '%s' already exists. Use --force if you want to overwrite it", to)
	}
	text, err := a.fetch(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, append([]byte(sifHead), text...), 0o755); err != nil { //nolint:gosec // SIF files can be run
		return fatal("While performing build: %v", err)
	}
	fmt.Fprintln(os.Stderr, "INFO:    Build complete: "+to)
	return nil
}

// fetch gives an image of the registry.
func (a at) fetch(image string) ([]byte, error) {
	if !strings.HasPrefix(image, "docker://") {
		return nil, fatal("unable to build from %s: the stand-in knows docker:// alone", image)
	}
	text, err := os.ReadFile(inRegistry(a.dir, image))
	if err != nil {
		return nil, fatal("While performing build: conveyor failed to get: reading manifest in %s: manifest unknown", strings.TrimPrefix(image, "docker://"))
	}
	return text, nil
}

// system gives an image as a directory, which stays as it is.
func (a at) system(image string) (string, error) {
	if strings.Contains(image, "://") {
		text, err := a.fetch(image)
		if err != nil {
			return "", err
		}
		return a.unpack(text)
	}
	i, err := os.Stat(image)
	switch {
	case err != nil:
		return "", fatal("could not open image %s: failed to retrieve path for %s: lstat %s: no such file or directory", image, image, image)
	case i.IsDir():
		return image, nil
	}
	text, err := os.ReadFile(image)
	if err != nil {
		return "", fatal("could not open image %s: %v", image, err)
	}
	if !bytes.HasPrefix(text, []byte(sifHead)) {
		return "", fatal("could not open image %s: image format not recognized", image)
	}
	return a.unpack(text[len(sifHead):])
}

// unpack puts a system into the cache, once.
func (a at) unpack(text []byte) (string, error) {
	sum := sha256.Sum256(text)
	dir := filepath.Join(a.dir, "cache", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // what is in an image is no secret
		return "", err
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { //nolint:gosec // a descriptor
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	part := dir + ".part"
	_ = os.RemoveAll(part)
	if err := extract(tar.NewReader(bytes.NewReader(text)), part); err != nil {
		return "", err
	}
	return dir, os.Rename(part, dir)
}

func extract(t *tar.Reader, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as in the image
		return err
	}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil { //nolint:gosec // as in the image
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if err = os.MkdirAll(p, 0o755); err == nil { //nolint:gosec // as in the image
				err = syscall.Chmod(p, uint32(h.Mode)) //nolint:gosec // permissions
			}
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, p)
		default:
			var b []byte
			if b, err = io.ReadAll(t); err == nil {
				if err = os.WriteFile(p, b, 0o755); err == nil { //nolint:gosec // as in the image
					err = syscall.Chmod(p, uint32(h.Mode)) //nolint:gosec // permissions
				}
			}
		}
		if err != nil {
			return err
		}
	}
}
