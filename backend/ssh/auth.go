package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// errLocked is a key that can't be used for want of its passphrase.
var errLocked = errors.New("the key has a passphrase")

// asker asks a person for a passphrase; nil = nobody is there.
type asker func(ctx context.Context, what string) (string, error)

// login is what a host is shown to let us in. It is used for one handshake.
type login struct {
	t     *settings
	ask   asker
	agent io.Closer
	notes []string // what couldn't be used, and why: told where all else was refused
}

// signers gives the keys in the order in which they are tried: servers allow few tries, so those that the configuration names come
// first, with their certificates before them.
func (l *login) signers(ctx context.Context) []ssh.Signer {
	held := l.fromAgent()
	all := slices.Clone(held)
	var named, last []ssh.Signer
	for _, f := range l.t.keys {
		s, err := l.load(ctx, f)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				l.note("%s: %v", f, err)
			}
			continue
		}
		if i := slices.IndexFunc(held, func(h ssh.Signer) bool { return same(h.PublicKey(), s.PublicKey()) }); i >= 0 {
			s = held[i]
			held = slices.Delete(held, i, i+1)
		}
		all = append(all, s)
		switch s.(type) {
		case *lockedKey:
			last = append(last, s)
		case *absentKey:
			l.note("%s: only the public key is here, and no agent holds the private one", f)
		default:
			named = append(named, s)
		}
	}
	if l.t.only {
		held = nil
	}
	return slices.Concat(l.certified(all), named, held, last)
}

func (l *login) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// fromAgent gives the keys that the agent holds.
func (l *login) fromAgent() []ssh.Signer {
	if l.t.agent == "" {
		return nil
	}
	conn, err := dialAgent(l.t.agent)
	if err != nil {
		l.note("the agent at %s: %v", l.t.agent, err)
		return nil
	}
	l.agent = conn
	all, err := agent.NewClient(conn).Signers()
	if err != nil {
		l.note("the agent at %s: %v", l.t.agent, err)
	}
	return all
}

func dialAgent(address string) (io.ReadWriteCloser, error) {
	if strings.HasPrefix(address, `\\.\pipe\`) { // how Windows calls it
		return os.OpenFile(address, os.O_RDWR, 0)
	}
	return net.Dial("unix", address)
}

// close lets go of the agent.
func (l *login) close() {
	if l.agent != nil {
		_ = l.agent.Close()
	}
}

// load reads a file with a private key. One with a passphrase is asked for only when a host would accept it. Of a key that is only in
// the agent the public half may lie there instead.
func (l *login) load(ctx context.Context, file string) (ssh.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		if public, perr := readPublic(file + ".pub"); perr == nil {
			return &absentKey{public, file}, nil
		}
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(text)
	var missing *ssh.PassphraseMissingError
	if !errors.As(err, &missing) {
		if public, perr := readPublic(file); err != nil && perr == nil {
			return &absentKey{public, file}, nil
		}
		return s, err
	}
	public := missing.PublicKey
	if public == nil {
		if public, err = readPublic(file + ".pub"); err != nil {
			return nil, fmt.Errorf("%w, and without its .pub file nothing can be told of it", errLocked)
		}
	}
	return &lockedKey{ctx: ctx, l: l, file: file, text: text, public: public}, nil
}

func readPublic(file string) (ssh.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	k, _, _, _, err := ssh.ParseAuthorizedKey(text)
	return k, err
}

// certified gives the certificates that lie beside the keys or are named, each with its key.
func (l *login) certified(keys []ssh.Signer) []ssh.Signer {
	var out []ssh.Signer
	files := slices.Clone(l.t.certs)
	for _, k := range l.t.keys {
		if f := k + "-cert.pub"; !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	for _, f := range files {
		public, err := readPublic(f)
		if err != nil {
			if slices.Contains(l.t.certs, f) {
				l.note("%s: %v", f, err)
			}
			continue
		}
		cert, ok := public.(*ssh.Certificate)
		if !ok {
			l.note("%s is no certificate", f)
			continue
		}
		for _, k := range keys {
			if !same(k.PublicKey(), cert.Key) {
				continue
			}
			if s, err := ssh.NewCertSigner(cert, k); err == nil {
				out = append(out, s)
			}
			break
		}
	}
	return out
}

// lockedKey is a key whose passphrase is asked for when it is used.
type lockedKey struct {
	ctx    context.Context // of the handshake that the key was read for
	l      *login
	file   string
	text   []byte
	public ssh.PublicKey
	open   ssh.Signer
}

var (
	_ ssh.AlgorithmSigner = (*lockedKey)(nil)
	_ ssh.AlgorithmSigner = (*absentKey)(nil)
)

func (k *lockedKey) PublicKey() ssh.PublicKey { return k.public }

func (k *lockedKey) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(r, data, "")
}

func (k *lockedKey) SignWithAlgorithm(r io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if k.open == nil {
		if err := k.unlock(); err != nil {
			return nil, err
		}
	}
	return signWith(k.open, signing{r, data, algorithm})
}

func (k *lockedKey) unlock() error {
	if k.l.ask == nil {
		return fmt.Errorf("%s: %w, no agent holds it, and nobody is there to ask: add it to an agent (ssh-add %s)", k.file, errLocked, k.file)
	}
	phrase, err := k.l.ask(k.ctx, "Passphrase of the key "+k.file)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", k.file, errLocked, err)
	}
	k.open, err = ssh.ParsePrivateKeyWithPassphrase(k.text, []byte(phrase))
	if err != nil {
		return fmt.Errorf("%s: the passphrase doesn't open it: %w", k.file, err)
	}
	return nil
}

type signing struct {
	random    io.Reader
	data      []byte
	algorithm string
}

func signWith(s ssh.Signer, w signing) (*ssh.Signature, error) {
	if w.random == nil {
		w.random = rand.Reader
	}
	if a, ok := s.(ssh.AlgorithmSigner); ok && w.algorithm != "" {
		return a.SignWithAlgorithm(w.random, w.data, w.algorithm)
	}
	return s.Sign(w.random, w.data)
}

// absentKey is a key of which only the public half is here, and no agent has the other.
type absentKey struct {
	public ssh.PublicKey
	file   string
}

func (k *absentKey) PublicKey() ssh.PublicKey { return k.public }

func (k *absentKey) Sign(io.Reader, []byte) (*ssh.Signature, error) {
	return nil, fmt.Errorf("%s: only the public key is here, and no agent holds the private one", k.file)
}

func (k *absentKey) SignWithAlgorithm(r io.Reader, data []byte, _ string) (*ssh.Signature, error) {
	return k.Sign(r, data)
}
