package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// sinks are programs that hand what they are given to the network.
var sinks = []string{"curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "openssl", "scp", "sftp", "rsync", "ssh", "mail", "mailx", "mutt",
	"sendmail", "msmtp", "swaks", "aws", "gsutil", "gcloud", "az", "s3cmd", "mc", "rclone", "b2", "gh", "gist", "http", "https", "xh", "dig",
	"nslookup", "host", "drill", "ping", "tftp", "ftp", "lftp", "croc", "wormhole", "ffsend", "transfer", "pastebinit", "nmap", "busybox", "kcat", "docker", "podman", "nerdctl", "kubectl", "oc"}

// spied is how many commands upstream of a sink are looked at.
const spied = 64

func sendsSecret(a *Act) []Hit {
	words := a.sent()
	stdin := slices.Contains(stdinSinks, a.Program) || a.takesStdin()
	if socket := a.socketWrites(); socket {
		words, stdin = append(words, a.sources()...), true
	} else if !slices.Contains(sinks, a.Program) {
		return nil
	}
	if a.Stdin.Kind == analysis.StdinFile && (stdin || a.Program == "gh" && len(a.Words) > 1 && a.Words[1].Is("gist")) {
		words = append(words, a.Stdin.File)
	}
	if slices.ContainsFunc(a.bodies(), a.holdsSecret) {
		return []Hit{{Reason: "sends a secret that stands in a variable: " + a.Line()}}
	}
	targets := a.each(words, privatePlace)
	if len(targets) == 0 && (stdin && a.carriesSecret(a.Stdin.From) || slices.ContainsFunc(a.Words, func(w analysis.Word) bool { return a.carriesSecret(w.From) })) {
		return []Hit{{Reason: "sends a secret that a command in front of it reads: " + a.Line()}}
	}
	return one("sends a secret", targets)
}

// stdinSinks send their standard input.
var stdinSinks = []string{"nc", "ncat", "netcat", "socat", "telnet", "openssl", "ssh", "mail", "mailx", "mutt", "sendmail", "msmtp", "gist",
	"pastebinit", "kcat", "busybox", "transfer"}

// takesStdin tells whether a sink was told to send its standard input.
func (a *Act) takesStdin() bool {
	switch a.Program {
	case "curl", "http", "https", "xh", "aws", "gsutil", "gcloud", "rclone", "s3cmd", "mc", "gh", "wget":
		return slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool {
			return w.Text == "-" || strings.HasSuffix(w.Text, "@-") || w.Text == "-T-" || w.Text == "rcat" || strings.HasSuffix(w.Text, "=-") || strings.HasSuffix(w.Text, "/dev/stdin")
		}) || strings.HasPrefix(a.Program, "h") || a.Program == "xh"
	}
	return false
}

// sent lists the files that a sink sends.
func (a *Act) sent() []analysis.Word {
	switch a.Program {
	case "curl", "wget", "http", "https", "xh":
		return a.uploads()
	case "scp", "rsync":
		args := a.Args(analysis.Grammar{Short: "cDFiJloPSXefBTM", Long: []string{"rsh", "exclude", "include", "filter", "files-from", "rsync-path",
			"password-file"}})
		n := len(args.Operands)
		if n < 2 || !remote(args.Operands[n-1]) {
			return nil
		}
		return args.Operands[:n-1]
	case "docker", "podman", "nerdctl", "kubectl", "oc":
		return a.intoContainer()
	case "mail", "mailx", "mutt", "swaks":
		return optionValues(a, analysis.Grammar{Short: "aAscbrSi", Long: []string{"attach", "attachment"}}, "a", "A", "attach", "attachment")
	case "aws", "gsutil", "gcloud", "az", "s3cmd", "mc", "rclone", "b2":
		if a.does(uploaders()) {
			named := a.after("--file", "-f", "--source", "--body")
			operands := a.Args(analysis.Grammar{}).Operands
			if n := len(operands); n > 1 && remote(operands[n-1]) { // else it downloads
				named = append(named, operands[:n-1]...)
			}
			return named
		}
	case "gh", "gist", "croc", "wormhole", "ffsend", "transfer", "tftp", "pastebinit":
		if a.Program != "gh" || len(a.Words) > 2 && (a.Words[1].Is("gist") || a.Words[1].Is("release")) {
			return a.Args(analysis.Grammar{Short: "d", Long: []string{"desc"}}).Operands
		}
	case "sftp", "ftp", "lftp":
		var out []analysis.Word
		for f := range strings.FieldsSeq(a.Stdin.Text) {
			out = append(out, analysis.Word{Text: f, Span: a.Span})
		}
		return out
	}
	return nil
}

// intoContainer lists what is copied into a container or a pod. A project's own variables belong there.
func (a *Act) intoContainer() []analysis.Word {
	args := a.Args(analysis.Grammar{Short: "nc", Long: []string{"namespace", "container", "context", "retries"}})
	n := len(args.Operands)
	if n < 3 || !args.Operands[0].Is("cp") || !strings.Contains(args.Operands[n-1].Text, ":") || strings.Contains(args.Operands[n-2].Text, ":") || strings.Contains(args.Operands[n-2].Text, ".env") {
		return nil
	}
	return args.Operands[n-2 : n-1]
}

func optionValues(a *Act, g analysis.Grammar, names ...string) []analysis.Word {
	args := a.Args(g)
	var out []analysis.Word
	for _, n := range names {
		out = append(out, args.Values[n]...)
	}
	return out
}

// remote tells whether an operand of a copy names another machine.
func remote(w analysis.Word) bool {
	host, _, ok := strings.Cut(w.Text, ":")
	return ok && !strings.Contains(host, "/")
}

// uploads lists the files that a client of the web sends, by option or by sign.
func (a *Act) uploads() []analysis.Word {
	var out []analysis.Word
	switch a.Program {
	case "curl":
		args := a.Args(curlGrammar())
		out = append(out, args.Values["T"]...)
		out = append(out, args.Values["upload-file"]...)
		for _, w := range args.Operands {
			if path, ok := strings.CutPrefix(w.Text, "file://"); ok {
				out = append(out, analysis.Word{Text: path, Span: w.Span})
			}
		}
		for _, name := range [...]string{"d", "F", "data", "data-binary", "data-ascii", "data-urlencode", "form", "json", "url-query"} {
			for _, w := range args.Values[name] {
				if f, ok := fileOf(w); ok {
					out = append(out, f)
				}
			}
		}
	case "wget":
		out = optionValues(a, analysis.Grammar{Short: "oOPUe", Long: []string{"post-file", "body-file", "output-document"}}, "post-file", "body-file")
	default:
		for _, w := range a.Words[1:] {
			if f, ok := fileOf(w); ok && !strings.HasPrefix(w.Text, "-") {
				out = append(out, f)
			}
		}
	}
	return out
}

var curlGrammar = sync.OnceValue(func() analysis.Grammar {
	g := writers()["curl"].grammar
	g.Long = append(slices.Clone(g.Long), "data-ascii", "data-urlencode", "json", "url-query", "form-string")
	return g
})

// fileOf gives the file that a value such as @f, name=@f or name=<f names.
func fileOf(w analysis.Word) (analysis.Word, bool) {
	i := strings.IndexAny(w.Text, "@<")
	if i < 0 || strings.ContainsAny(w.Text[:i], " '\"/:{\n") || i > 0 && w.Text[i-1] != '=' && strings.Contains(w.Text[:i], "=") {
		return w, false // a body that holds such signs
	}
	w.Text, _, _ = strings.Cut(w.Text[i+1:], ";")
	w.Alts = nil
	return w, w.Text != "-"
}

// socketWrites tells whether a command's output goes to a socket of bash.
func (a *Act) socketWrites() bool {
	return slices.ContainsFunc(a.Redirects, func(r analysis.Redirect) bool { return r.Write && isSocket(r.Target.Text) })
}

func isSocket(path string) bool {
	return strings.HasPrefix(path, "/dev/tcp/") || strings.HasPrefix(path, "/dev/udp/")
}

// carriesSecret tells whether one of the commands of a flow reads what is private, or prints the environment.
func (a *Act) carriesSecret(f analysis.Flow) bool {
	if f.Empty() {
		return false
	}
	end := min(f.End, len(a.Reading.Commands))
	named := false
	for i := max(f.Start, end-spied); i < end; i++ {
		c := &a.Reading.Commands[i]
		if a.readsPrivate(i) || named && c.Under("xargs", "parallel", "find", "fd") {
			return true
		}
		named = named || namesPrivate(c)
	}
	return false
}

// namesPrivate tells whether a command looks for files whose names say that they hold keys.
func namesPrivate(c *analysis.Command) bool {
	return slices.Contains([]string{"find", "locate", "fd", "fdfind", "mdfind"}, c.Program) && slices.ContainsFunc(c.Words, func(w analysis.Word) bool {
		name := strings.Trim(analysis.Plain(w.Text), "*")
		return slices.Contains([]string{".pem", ".key", "id_rsa", "id_ed25519", "id_ecdsa", ".p12", ".pfx", ".kdbx", ".jks", "credentials", ".netrc", "wallet.dat", ".env"}, name)
	})
}

// readsPrivate tells whether a command of the reading reads what is private.
func (a *Act) readsPrivate(i int) bool {
	if private, ok := a.known.private[i]; ok {
		return private
	}
	c := &Act{Command: &a.Reading.Commands[i], Reading: a.Reading, Index: i, known: a.known}
	private := len(c.Words) > 0 && (c.dumpsEnvironment() || c.opensStore() || printing[c.Program] && slices.ContainsFunc(c.Words, c.holdsSecret)) || len(c.each(c.sources(), privatePlace)) > 0
	if a.known.private == nil {
		a.known.private = map[int]bool{}
	}
	a.known.private[i] = private
	return private
}

// dumpsEnvironment tells whether a command prints all variables.
func (a *Act) dumpsEnvironment() bool {
	switch a.Program {
	case "env", "printenv", "set":
		return len(a.Words) == 1 || len(a.Words) == 2 && (a.Words[1].Is("-0") || a.Words[1].Is("--null"))
	case "export", "declare", "typeset":
		return len(a.Words) == 1 || len(a.Words) == 2 && (a.Words[1].Is("-p") || a.Words[1].Is("-x") || a.Words[1].Is("-px") || a.Words[1].Is("-xp"))
	}
	return false
}

// uploaders lists the verbs of storage clients that upload.
var uploaders = sync.OnceValue(func() map[string][]*compiled {
	return compile([]deed{
		{names: "aws", long: "profile region endpoint-url", verbs: "s3 cp|s3 mv|s3 sync|s3api put-object"},
		{names: "gsutil", verbs: "cp|mv|rsync|... cp"},
		{names: "gcloud", verbs: "storage cp|storage rsync|compute scp"},
		{names: "az", verbs: "storage blob upload|storage file upload|storage blob upload-batch"},
		{names: "s3cmd", verbs: "put|sync"},
		{names: "mc", verbs: "cp|mirror|put"},
		{names: "rclone", verbs: "copy|copyto|sync|move|moveto"},
		{names: "b2", verbs: "upload-file|sync|file upload"},
	})
})

// secretVariables are variables that hold a secret nobody is given in the body of a request: clients sign with it, or put it into a header.
var secretVariables = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{?(AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN|GITHUB_TOKEN|GH_TOKEN|GITLAB_TOKEN|CI_JOB_TOKEN|NPM_TOKEN|` +
		`NODE_AUTH_TOKEN|PYPI_TOKEN|TWINE_PASSWORD|DOCKER_PASSWORD|OPENAI_API_KEY|ANTHROPIC_API_KEY|SSH_PRIVATE_KEY|DEPLOY_KEY|KUBECONFIG_DATA|VAULT_TOKEN|` +
		`HEROKU_API_KEY|CLOUDFLARE_API_TOKEN|DIGITALOCEAN_ACCESS_TOKEN|STRIPE_SECRET_KEY|DATABASE_URL|PGPASSWORD|SUDO_PASSWORD)\b`)
})

// printing are programs that put out what they are given.
var printing = map[string]bool{"echo": true, "printf": true, "printenv": true, "print": true}

// holdsSecret tells whether a word is made of such a variable.
func (a *Act) holdsSecret(w analysis.Word) bool {
	return !analysis.Literal(w.Text) && secretVariables().MatchString(w.Span.Slice(a.Reading.Text)) || a.Program == "printenv" && secretVariables().MatchString("$"+w.Text)
}

// bodies lists what a client of the web is given to send as it stands.
func (a *Act) bodies() []analysis.Word {
	switch a.Program {
	case "curl":
		args := a.Args(curlGrammar())
		var out []analysis.Word
		for _, name := range [...]string{"d", "F", "data", "data-raw", "data-binary", "data-ascii", "data-urlencode", "form", "json", "url-query", "form-string"} {
			out = append(out, args.Values[name]...)
		}
		return out
	case "wget":
		return optionValues(a, analysis.Grammar{Short: "oOPUe", Long: []string{"post-data", "body-data"}}, "post-data", "body-data")
	}
	return nil
}
