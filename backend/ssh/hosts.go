package ssh

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what hashed names of hosts are made with
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Markers of lines in files of known hosts.
const (
	markCA      = "cert-authority"
	markRevoked = "revoked"
)

// knownLine is one line of a file of known hosts.
type knownLine struct {
	file   string
	line   int
	marker string
	hosts  []string
	key    ssh.PublicKey
}

func (l knownLine) at() string { return fmt.Sprintf("%s line %d", l.file, l.line) }

// isFor reports whether the line is about a host: patterns with wildcards, negated ones, and hashed names.
func (l knownLine) isFor(host string) bool {
	found := false
	for _, h := range l.hosts {
		switch {
		case strings.HasPrefix(h, "|"):
			found = found || hashedIs(h, host)
		case strings.HasPrefix(h, "!"):
			if wildcard(strings.ToLower(h[1:]), host) {
				return false
			}
		default:
			found = found || wildcard(strings.ToLower(h), host)
		}
	}
	return found
}

// hashedIs reports whether a hashed name, |1|salt|hash, stands for host.
func hashedIs(h, host string) bool {
	parts := strings.Split(h, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	want, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(host))
	return hmac.Equal(mac.Sum(nil), want)
}

// readKnown reads a file of known hosts. A line that can't be read is passed over, as OpenSSH does: it vouches for nothing.
func readKnown(file string) ([]knownLine, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the known hosts: %w", err)
	}
	var out []knownLine
	n := 0
	for line := range bytes.Lines(text) {
		n++
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(line)
		if err == nil {
			out = append(out, knownLine{file, n, marker, hosts, key})
		}
	}
	return out, nil
}

// verifier decides whether a host is the one that is meant.
type verifier struct {
	host    string   // what the host is called in the files
	plain   string   // the same without its port, where a key may stand too; "" = there is no other
	cert    string   // what a certificate has to be for
	write   string   // where an unknown host is recorded; "" = nowhere
	hash    bool     // its name is hashed there
	strict  bool     // an unknown host is refused
	files   []string // all that are looked at
	offered []string // algorithms that the configuration allows, nil = all
	warn    func(string, error)
}

func (t *settings) verifier(warn func(string, error)) *verifier {
	v := &verifier{strict: t.strict, hash: t.hash, offered: t.algorithms, warn: warn, files: slices.Concat(t.known, t.readOnlyKnown)}
	if len(t.known) > 0 {
		v.write = t.known[0]
	}
	v.cert = strings.ToLower(t.host)
	v.host = v.cert
	switch {
	case t.hostKeyAlias != "":
		v.host = strings.ToLower(t.hostKeyAlias)
		v.cert = v.host
	case t.port != usualPort:
		v.plain = v.host
		v.host = "[" + v.host + "]:" + strconv.Itoa(t.port)
	}
	return v
}

// errHostKey is what a host that isn't known to be the right one gives.
var errHostKey = errors.New("the host can't be trusted")

func (v *verifier) lines() ([]knownLine, error) {
	var all []knownLine
	for _, f := range v.files {
		l, err := readKnown(f)
		if err != nil {
			return nil, err
		}
		all = append(all, l...)
	}
	return all, nil
}

// recording keeps two connections of this process from recording a host twice.
var recording sync.Mutex

// check is asked about the key that a host shows.
func (v *verifier) check(_ string, remote net.Addr, key ssh.PublicKey) error {
	all, err := v.lines()
	if err != nil {
		return err
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		known, err := v.certified(all, cert, remote)
		if known || err != nil {
			return err
		}
		key = cert.Key
	}
	if err := v.revoked(all, key); err != nil {
		return err
	}
	var other *knownLine
	for i, l := range all {
		switch {
		case l.marker != "":
		case v.plain != "" && l.isFor(v.plain) && same(l.key, key):
			return nil
		case !l.isFor(v.host):
		case same(l.key, key):
			return nil
		case other == nil || l.key.Type() == key.Type() && other.key.Type() != key.Type():
			other = &all[i]
		}
	}
	shown := key.Type() + " " + ssh.FingerprintSHA256(key)
	if other != nil {
		return fmt.Errorf("%w: %s shows the key %s, and %s has another (%s). If the host was really made anew, remove that line; if not, somebody may stand between",
			errHostKey, v.host, shown, other.at(), ssh.FingerprintSHA256(other.key))
	}
	if v.strict {
		return fmt.Errorf("%w: %s is not known and StrictHostKeyChecking is yes; it shows the key %s. Add it to %s if that is right", errHostKey, v.host, shown, v.write)
	}
	recording.Lock()
	defer recording.Unlock()
	if err := v.record(key); err != nil {
		v.warn("a host that was met for the first time can't be recorded", err)
	}
	return nil
}

func same(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

func (v *verifier) revoked(all []knownLine, keys ...ssh.PublicKey) error {
	for _, l := range all {
		if l.marker == markRevoked && (l.isFor(v.host) || v.plain != "" && l.isFor(v.plain)) && slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return same(k, l.key) }) {
			return fmt.Errorf("%w: %s marks a key of %s as revoked", errHostKey, l.at(), v.host)
		}
	}
	return nil
}

// certified decides about a host that shows a certificate, and reports false where no authority is known for it.
func (v *verifier) certified(all []knownLine, cert *ssh.Certificate, remote net.Addr) (bool, error) {
	if err := v.revoked(all, cert.Key, cert.SignatureKey); err != nil {
		return true, err
	}
	for _, l := range all {
		if l.marker != markCA || !l.isFor(v.host) && (v.plain == "" || !l.isFor(v.plain)) || !same(l.key, cert.SignatureKey) {
			continue
		}
		c := ssh.CertChecker{IsHostAuthority: func(ssh.PublicKey, string) bool { return true }}
		if err := c.CheckHostKey(net.JoinHostPort(v.cert, "22"), remote, cert); err != nil {
			return true, fmt.Errorf("%w: the certificate of %s, by the authority in %s: %w", errHostKey, v.host, l.at(), err)
		}
		return true, nil
	}
	return false, nil
}

// record writes a host down. Somebody else may have done so since it was looked up.
func (v *verifier) record(key ssh.PublicKey) error {
	if v.write == "" || v.write == os.DevNull {
		return nil
	}
	already, err := readKnown(v.write)
	if err != nil || slices.ContainsFunc(already, func(l knownLine) bool { return l.marker == "" && l.isFor(v.host) && same(l.key, key) }) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(v.write), 0o700); err != nil {
		return fmt.Errorf("make the directory of the known hosts: %w", err)
	}
	f, err := os.OpenFile(v.write, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the known hosts: %w", err)
	}
	defer f.Close()
	host := v.host
	if v.hash {
		host = knownhosts.HashHostname(host)
	}
	line := host + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n"
	if i, err := f.Stat(); err == nil && i.Size() > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], i.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("write the known hosts: %w", err)
	}
	return nil
}

// order gives the algorithms of host keys as they are offered: those for which something is known of the host come first, so that a
// host with keys of several types shows the one that can be checked.
func (v *verifier) order() ([]string, error) {
	offered := v.offered
	if len(offered) == 0 {
		offered = hostAlgorithms()
	}
	all, err := v.lines()
	if err != nil {
		return nil, err
	}
	types, authority := map[string]bool{}, false
	for _, l := range all {
		if !l.isFor(v.host) && (v.plain == "" || !l.isFor(v.plain)) {
			continue
		}
		switch l.marker {
		case markCA:
			authority = true
		case "":
			types[l.key.Type()] = true
		}
	}
	first := func(a string) bool {
		if strings.Contains(a, "-cert-v0") {
			return authority
		}
		if strings.HasPrefix(a, "rsa-sha2-") {
			return types[ssh.KeyAlgoRSA]
		}
		return types[a]
	}
	rest := func(a string) bool { return !first(a) }
	out := append(slices.DeleteFunc(slices.Clone(offered), rest), slices.DeleteFunc(slices.Clone(offered), first)...)
	if !authority { // a certificate that nobody vouches for is of no more use than the key in it
		out = slices.DeleteFunc(out, func(a string) bool { return strings.Contains(a, "-cert-v0") })
	}
	return out, nil
}
