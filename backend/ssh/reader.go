package ssh

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reads are the keywords of an ssh configuration that decide how a host is reached, as far as this reader knows them. What may stand
// more than once is true.
var reads = map[string]bool{
	"hostname": false, "user": false, "port": false, "identityfile": true, "certificatefile": true, "identitiesonly": false,
	"identityagent": false, "proxyjump": false, "proxycommand": false, "userknownhostsfile": false, "globalknownhostsfile": false,
	"hostkeyalias": false, "hostkeyalgorithms": false, "stricthostkeychecking": false, "hashknownhosts": false,
	"serveraliveinterval": false, "serveralivecountmax": false, "connecttimeout": false,
}

// harmless keywords change nothing that matters here: what is forwarded, shown or logged, what a terminal does, and bounds and ways of
// logging in that the protocol settles by itself or that aren't used.
var harmless = words(`addkeystoagent batchmode canonicalizefallbacklocal canonicalizemaxdots canonicalizepermittedcnames canonicaldomains
	casignaturealgorithms challengeresponseauthentication checkhostip ciphers clearallforwardings compression compressionlevel
	connectionattempts controlmaster controlpath controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar
	exitonforwardfailure fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout forwardx11trusted gatewayports
	gssapiauthentication gssapiclientidentity gssapidelegatecredentials gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey
	gssapiserveridentity gssapitrustdns hostbasedacceptedalgorithms hostbasedauthentication hostbasedkeytypes ignoreunknown ipqos
	kbdinteractiveauthentication kbdinteractivedevices kexalgorithms localcommand localforward loglevel logverbose macs
	nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming passwordauthentication permitlocalcommand
	permitremoteopen pkcs11provider preferredauthentications pubkeyacceptedalgorithms pubkeyacceptedkeytypes pubkeyauthentication
	rekeylimit remotecommand remoteforward requesttty requiredrsasize revokedhostkeys securitykeyprovider sendenv sessiontype setenv
	stdinnull streamlocalbindmask streamlocalbindunlink syslogfacility tag tcpkeepalive tunnel tunneldevice updatehostkeys usekeychain
	verifyhostkeydns versionaddendum visualhostkey xauthlocation`)

// harmlessOff keywords would matter, and are harmless with these values.
var harmlessOff = map[string][]string{
	"canonicalizehostname": {"no", "none"}, "proxyusefdpass": {"no"}, "knownhostscommand": {"none"}, "bindaddress": {"none"},
	"bindinterface": {"none"}, "addressfamily": {"any"},
}

// maxIncludes bounds how deep files include others, as OpenSSH does.
const maxIncludes = 16

// usualKeys are the files of keys that are tried where the configuration names none, in OpenSSH's order.
var usualKeys = []string{"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"}

// reader reads configuration files for one host. The first value of a keyword counts.
type reader struct {
	host    string
	found   directives
	unknown []string // patterns of keywords that are passed over
	x       expander
}

func readFiles(s source, w wanted) (directives, error) {
	r := &reader{host: w.host, found: directives{}, x: expander{settings: &settings{alias: w.host, host: w.host}, getenv: s.getenv}}
	files := []string{filepath.Join(homeDir(), ".ssh", "config"), "/etc/ssh/ssh_config"}
	if s.file != "" {
		files = []string{s.file}
	}
	for i, f := range files {
		err := r.file(f, includes{dir: []string{filepath.Join(homeDir(), ".ssh"), "/etc/ssh"}[i]}, true)
		if errors.Is(err, os.ErrNotExist) && s.file == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the ssh configuration: %w", err)
		}
	}
	r.complete()
	return r.found, nil
}

// complete fills in what OpenSSH takes where nothing is configured.
func (r *reader) complete() {
	d := r.found
	if len(d["identityfile"]) == 0 {
		for _, k := range usualKeys {
			d["identityfile"] = append(d["identityfile"], "~/.ssh/"+k)
		}
	}
	if len(d["userknownhostsfile"]) == 0 {
		d["userknownhostsfile"] = []string{"~/.ssh/known_hosts ~/.ssh/known_hosts2"}
	}
	if len(d["globalknownhostsfile"]) == 0 {
		d["globalknownhostsfile"] = []string{"/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"}
	}
}

// includes is where a file stands among those that include each other.
type includes struct {
	dir   string // what relative names of files start from
	depth int
}

// file reads one file. Its lines count as long as active, up to a Host of its own.
func (r *reader) file(path string, in includes, active bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	applies := active
	for i, line := range strings.Split(string(text), "\n") {
		key, args, err := splitLine(line)
		if err == nil && key != "" {
			applies, err = r.line(key, args, scope{in, active, applies})
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w", path, i+1, err)
		}
	}
	return nil
}

// scope is what a line stands in.
type scope struct {
	includes
	outer   bool // the file counts
	applies bool // this line does
}

// line takes in one line and tells whether the following ones count.
func (r *reader) line(key string, args []string, in scope) (bool, error) {
	if len(args) == 0 {
		return in.applies, fmt.Errorf("%s has no value", key)
	}
	switch key {
	case "host":
		return in.outer && matches(args, r.host), nil
	case "match":
		return in.applies, errors.New("the directive Match needs the ssh program, which isn't installed here; use Host instead")
	case "include":
		return in.applies, r.include(args, in)
	case "ignoreunknown":
		r.unknown = append(r.unknown, strings.Split(strings.ToLower(args[0]), ",")...)
		return in.applies, nil
	}
	many, known := reads[key]
	switch {
	case known:
		if in.applies {
			r.take(key, args, many)
		}
	case slices.Contains(harmless, key), slices.ContainsFunc(r.unknown, func(p string) bool { return wildcard(p, key) }):
	case slices.Contains(harmlessOff[key], strings.ToLower(args[0])):
	case in.applies:
		return in.applies, fmt.Errorf("%s is not understood here, and might change how %s is reached; with the ssh program installed it would be", key, r.host)
	}
	return in.applies, nil
}

func (r *reader) take(key string, args []string, many bool) {
	value := args[0]
	switch key {
	case "proxycommand":
		value = strings.Join(args, " ")
	case "userknownhostsfile", "globalknownhostsfile":
		value = strings.Join(args, " ")
	}
	_, set := r.found[key]
	switch other := map[string]string{"proxycommand": "proxyjump", "proxyjump": "proxycommand"}[key]; {
	case many:
		if !slices.Contains(r.found[key], value) {
			r.found[key] = append(r.found[key], value)
		}
	case set, other != "" && r.found.first(other) != "":
	default:
		r.found[key] = []string{value}
	}
}

func (r *reader) include(args []string, in scope) error {
	if in.depth >= maxIncludes {
		return fmt.Errorf("files include each other more than %d deep", maxIncludes)
	}
	for _, a := range args {
		p := r.x.file(a)
		if !filepath.IsAbs(p) {
			p = filepath.Join(in.dir, p)
		}
		files, err := filepath.Glob(p)
		if err != nil {
			return fmt.Errorf("include %s: %w", a, err)
		}
		for _, f := range files {
			if err := r.file(f, includes{in.dir, in.depth + 1}, in.applies); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches reports whether a host is one of those that patterns name. One that is named after a ! is none of them.
func matches(patterns []string, host string) bool {
	found := false
	for _, p := range patterns {
		if not, ok := strings.CutPrefix(p, "!"); ok {
			if wildcard(not, host) {
				return false
			}
			continue
		}
		found = found || wildcard(p, host)
	}
	return found
}

// wildcard matches * and ?.
func wildcard(pattern, s string) bool {
	star, mark, i, j := -1, 0, 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == s[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// splitLine takes a line apart: a keyword in lower case, and its values. A comment has neither.
func splitLine(line string) (string, []string, error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, nil
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return strings.ToLower(line), nil, nil
	}
	key, rest := strings.ToLower(line[:end]), strings.TrimLeft(line[end:], " \t")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
	if key == "proxycommand" { // a line for a shell, as it stands
		return key, []string{rest}, nil
	}
	args, err := quotedWords(rest)
	return key, args, err
}

// quotedWords splits at blanks outside quotes, up to a comment.
func quotedWords(s string) ([]string, error) {
	var out []string
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == '#' {
			return out, nil
		}
		var w strings.Builder
		for s != "" && s[0] != ' ' && s[0] != '\t' {
			if s[0] != '"' && s[0] != '\'' {
				w.WriteByte(s[0])
				s = s[1:]
				continue
			}
			end := strings.IndexByte(s[1:], s[0])
			if end < 0 {
				return nil, errors.New("a quote is not closed")
			}
			w.WriteString(s[1 : 1+end])
			s = s[end+2:]
		}
		out = append(out, w.String())
	}
}

// words splits a value that ssh prints as one.
func words(v string) []string {
	out, err := quotedWords(v)
	if err != nil {
		return strings.Fields(v)
	}
	return slices.DeleteFunc(out, func(w string) bool { return cmp.Or(w, "") == "" })
}
