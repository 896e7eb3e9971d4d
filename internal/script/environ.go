package script

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/secret"
)

// listed are the variables that a script sees without a grant, as whole names: a prefix PATH, TERM or LANG would let through what
// merely begins so.
var listed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "SHELL", "TZ", "NO_COLOR", "PYTHONPATH", "VIRTUAL_ENV",
	"HERMES_HOME", "HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// listedPrefixes are families of variables that a script sees without a grant.
var listedPrefixes = []string{"LC_", "XDG_", "CONDA_"}

// timezoneName is taken over in another form, as TZ.
const timezoneName = "HERMES_TIMEZONE"

// tokenName is the variable that holds the token of a run's channel. It holds no word that marks secrets: scripts need it.
const tokenName = "HERMES_RPC_COOKIE"

// Withheld is a variable that the session has and the script doesn't.
type Withheld struct {
	Name   string
	Secret bool // by its name, or by what its value carries
}

// PassSetting is the setting that passes a withheld variable.
const PassSetting = "terminal.env_passthrough"

// scrub builds a script's variables from the session's: granted ones are kept, then those with a secret's name dropped, then
// listed ones kept, and all others dropped (XE-1).
func scrub(vars map[string]string, granted []string) (kept map[string]string, withheld []Withheld) {
	kept = map[string]string{}
	for name, value := range vars {
		switch {
		case name == timezoneName:
		case slices.Contains(granted, name):
			kept[name] = value
		case secret.IsSecretName(name):
			withheld = append(withheld, Withheld{Name: name, Secret: true})
		case isListed(name) && isProxy(name) && carriesPassword(value):
			withheld = append(withheld, Withheld{Name: name, Secret: true})
		case isListed(name):
			kept[name] = value
		default:
			withheld = append(withheld, Withheld{Name: name})
		}
	}
	slices.SortFunc(withheld, func(a, b Withheld) int { return strings.Compare(a.Name, b.Name) })
	return kept, withheld
}

// WithheldFrom names the variables of a session that its scripts don't see, for doctor. Values are not told.
func WithheldFrom(vars map[string]string, granted []string) []Withheld {
	_, withheld := scrub(vars, granted)
	return withheld
}

func isListed(name string) bool {
	return slices.Contains(listed, name) ||
		slices.ContainsFunc(listedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) && len(name) > len(p) })
}

func isProxy(name string) bool { return strings.HasSuffix(strings.ToUpper(name), "_PROXY") }

// carriesPassword reports whether a proxy's address has user and password in it, with or without a scheme.
func carriesPassword(value string) bool {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil {
		return strings.Contains(value, "@") // can't be read: the cautious reading counts
	}
	_, has := u.User.Password()
	return has
}

// ours are the variables of a run that Hermes sets, over anything inherited (XE-5).
type ours struct {
	socket, cookie string
	session        string
	trace          string
	timezone       string
	temp           string
	staging        string
	dir            string // the session's directory, "" in strict mode
}

func (o ours) apply(vars map[string]string) []string {
	path := []string{o.staging}
	if o.dir != "" {
		path = append(path, o.dir)
	}
	if p := vars["PYTHONPATH"]; p != "" {
		path = append(path, p)
	}
	set := map[string]string{
		"HERMES_RPC_SOCKET": o.socket, tokenName: o.cookie, "HERMES_SESSION_ID": o.session, "TRACEPARENT": o.trace,
		"PYTHONPATH": strings.Join(path, ":"), "PYTHONDONTWRITEBYTECODE": "1",
		"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "TZ": o.timezone, "TMPDIR": o.temp,
	}
	for name, value := range set {
		if value != "" {
			vars[name] = value
		}
	}
	out := make([]string, 0, len(vars))
	for name, value := range vars {
		if !strings.ContainsRune(name, 0) && !strings.ContainsRune(value, 0) {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}
