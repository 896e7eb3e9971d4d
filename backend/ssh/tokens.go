package ssh

import (
	"crypto/sha1" //nolint:gosec // what %C is made with
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// expander replaces what stands for something else in values of the ssh configuration.
type expander struct {
	*settings
	getenv func(string) string
	me     string // the user here
}

// host expands a HostName, which knows two tokens only.
func (x expander) host(v string) string {
	return strings.NewReplacer("%%", "%", "%h", x.alias).Replace(v)
}

// tokens expands what stands after percent signs. An unknown one stays.
func (x expander) tokens(v string) string {
	if !strings.Contains(v, "%") {
		return v
	}
	here, _ := os.Hostname()
	short, _, _ := strings.Cut(here, ".")
	port := strconv.Itoa(x.port)
	sum := sha1.Sum([]byte(here + x.settings.host + port + x.user + x.jump)) //nolint:gosec // as OpenSSH defines it
	key := x.hostKeyAlias
	if key == "" {
		key = x.alias
	}
	return strings.NewReplacer("%%", "%", "%d", homeDir(), "%h", x.settings.host, "%i", strconv.Itoa(os.Getuid()), "%j", x.jump, "%k", key,
		"%L", short, "%l", here, "%n", x.alias, "%p", port, "%r", x.user, "%u", x.me, "%C", hex.EncodeToString(sum[:])).Replace(v)
}

// variables expands ${NAME}.
func (x expander) variables(v string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(v, "${")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return out.String() + "${" + rest
		}
		out.WriteString(x.env(name))
		v = after
	}
}

func (x expander) env(name string) string {
	if x.getenv == nil {
		return ""
	}
	return x.getenv(name)
}

// file expands the name of a file.
func (x expander) file(v string) string {
	v = x.tokens(x.variables(v))
	if v == "~" || strings.HasPrefix(v, "~/") {
		return filepath.Join(homeDir(), v[1:])
	}
	return v
}

func (x expander) files(all []string) []string {
	var out []string
	for _, v := range all {
		v = unquote(v)
		if strings.EqualFold(v, "none") {
			continue
		}
		if f := x.file(v); f != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// agent gives the address of the agent that IdentityAgent means.
func (x expander) agent(v string) string {
	v = unquote(v)
	switch {
	case strings.EqualFold(v, "none"):
		return ""
	case v == "" || v == "SSH_AUTH_SOCK":
		return x.env("SSH_AUTH_SOCK")
	case strings.HasPrefix(v, "$") && !strings.HasPrefix(v, "${"):
		return x.env(v[1:])
	}
	return x.file(v)
}

func unquote(v string) string {
	if len(v) > 1 && v[0] == '"' && v[len(v)-1] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// preferred are algorithms of host keys in OpenSSH's order.
var preferred = []string{
	ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// hostAlgorithms are those that this program can do, in OpenSSH's order; what that doesn't have comes last.
func hostAlgorithms() []string {
	can := ssh.SupportedAlgorithms().HostKeys
	out := slices.DeleteFunc(slices.Clone(preferred), func(a string) bool { return !slices.Contains(can, a) })
	for _, a := range can {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// algorithms reads a list of algorithms, as a whole or as a change to what is usual, and keeps what this program can do.
func algorithms(v string) []string {
	usual := hostAlgorithms()
	named := strings.Split(strings.TrimLeft(v, "+-^"), ",")
	is := func(a string) bool {
		return slices.ContainsFunc(named, func(p string) bool { ok, err := filepath.Match(p, a); return ok && err == nil })
	}
	isnt := func(a string) bool { return !is(a) }
	switch v[0] {
	case '-':
		return slices.DeleteFunc(usual, is)
	case '^':
		return append(slices.DeleteFunc(slices.Clone(usual), isnt), slices.DeleteFunc(usual, is)...)
	case '+':
		return usual // what this program can do is in it already
	}
	var out []string
	for _, p := range named {
		for _, a := range usual {
			if ok, err := filepath.Match(p, a); ok && err == nil && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}
