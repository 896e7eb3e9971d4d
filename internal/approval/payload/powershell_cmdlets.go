package payload

import (
	"slices"
	"strings"
)

// cmdlets maps aliases to the names of commands.
var cmdlets = map[string]string{
	"ri": "remove-item", "rm": "remove-item", "del": "remove-item", "erase": "remove-item", "rd": "remove-item", "rmdir": "remove-item",
	"iex": "invoke-expression", "iwr": "invoke-webrequest", "irm": "invoke-restmethod", "curl": "invoke-webrequest", "wget": "invoke-webrequest",
	"mi": "move-item", "mv": "move-item", "move": "move-item", "ren": "rename-item", "rni": "rename-item", "cp": "copy-item", "copy": "copy-item",
	"cpi": "copy-item", "sc": "set-content", "ac": "add-content", "clc": "clear-content", "spps": "stop-process", "kill": "stop-process",
	"saps": "start-process", "start": "start-process", "icm": "invoke-command", "ls": "get-childitem", "dir": "get-childitem", "gci": "get-childitem",
	"cd": "set-location", "sl": "set-location", "chdir": "set-location", "gc": "get-content", "cat": "get-content", "type": "get-content",
	"foreach": "foreach-object", "%": "foreach-object", "?": "where-object", "echo": "write-output", "write": "write-output", "ni": "new-item",
	"cli": "clear-item", "tee": "tee-object", "sasv": "start-service", "spsv": "stop-service", "where": "where-object", "select": "select-object",
}

// psParams are the arguments of a command, by their parameters.
type psParams struct {
	named    map[string]psWord
	operands []psWord
}

// psSwitches are parameters without a value.
var psSwitches = strings.Fields("recurse force confirm whatif verbose append noclobber nonewline asjob passthru usebasicparsing wait nonewwindow noprofile " +
	"noninteractive nologo file_ directory hidden")

// isSwitch tells whether a parameter, which may be abbreviated, has no value.
func isSwitch(name string) bool {
	return slices.ContainsFunc(psSwitches, func(s string) bool { return strings.HasPrefix(s, name) }) || name == "wi" || name == "s"
}

// psLists puts the words between commas together.
func psLists(words []psWord) []psWord {
	var out []psWord
	for i := 0; i < len(words); i++ {
		if words[i].param == "," && len(out) > 0 && i+1 < len(words) {
			last := &out[len(out)-1]
			if len(last.list) == 0 || last.param != "" {
				*last = psWord{texts: last.texts, net: last.net, list: []psWord{*last}}
			}
			i++
			last.list = append(last.list, words[i])
			last.texts = append(slices.Clone(last.values()), words[i].values()...)
			continue
		}
		out = append(out, words[i])
	}
	return out
}

func psArguments(words []psWord) psParams {
	p := psParams{named: map[string]psWord{}}
	words = psLists(words)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.param == ",", w.param == "+", w.param == "!", w.param == "&":
		case w.param == "":
			p.operands = append(p.operands, w)
		case len(w.list) > 0:
			p.named[w.param] = w.list[0]
		case !isSwitch(w.param) && i+1 < len(words) && (words[i+1].param == "" || !strings.HasPrefix(words[i+1].one(), "-")):
			i++
			p.named[w.param] = words[i]
		default:
			p.named[w.param] = psText("$true")
		}
	}
	return p
}

// get returns a parameter by its name, which may be abbreviated to n characters, or an operand.
func (p psParams) get(name string, n, operand int) (psWord, bool) {
	for k, v := range p.named {
		if len(k) >= n && strings.HasPrefix(name, k) {
			return v, true
		}
	}
	if operand >= 0 && operand < len(p.operands) {
		return p.operands[operand], true
	}
	return psWord{}, false
}

func (p psParams) on(name string, n int) bool {
	v, ok := p.get(name, n, -1)
	return ok && !strings.EqualFold(v.one(), "$false")
}

// paths are the places that a command is about: a parameter, operands, or what the pipe brings.
func (p psParams) paths(input psWord) []Text {
	var out []Text
	add := func(w psWord) {
		if len(w.list) > 0 {
			for _, e := range w.list {
				out = append(out, e.values())
			}
			return
		}
		out = append(out, w.values())
	}
	for _, n := range [...]string{"path", "literalpath", "filepath"} {
		if v, ok := p.get(n, 2, -1); ok {
			add(v)
		}
	}
	for _, o := range p.operands {
		add(o)
	}
	if len(out) == 0 {
		add(input)
	}
	for i, t := range out {
		marked := make(Text, len(t))
		for k, v := range t {
			v, _ = pattern(v)
			if v == "~" || strings.HasPrefix(v, "~/") {
				v = "$HOME" + v[1:]
			}
			marked[k] = v
		}
		out[i] = marked
	}
	return out
}

// cmdlet is one command: a cmdlet that does harm, or a program.
func (s *psScan) cmdlet(words []psWord, input psWord, start int) psWord {
	name := strings.ToLower(words[0].one())
	if long, ok := cmdlets[name]; ok {
		name = long
	}
	if native(words) {
		s.program(words, start)
		return psWord{}
	}
	p := psArguments(words[1:])
	if p.on("whatif", 2) || p.on("?", 1) {
		return psWord{}
	}
	switch name {
	case "remove-item", "remove-itemproperty":
		kind := Delete
		if p.on("recurse", 1) || p.on("s", 1) {
			kind = DeleteTree
		}
		paths := p.paths(input)
		for i, t := range paths {
			for k, v := range t {
				if rest, ok := strings.CutPrefix(v, "$HOME"); ok {
					paths[i][k] = s.home() + rest
				}
			}
		}
		s.add(kind, "Remove-Item", start, paths...)
	case "invoke-expression":
		v, ok := p.get("command", 1, 0)
		if !ok {
			v = input
		}
		if len(v.list) > 0 && !v.net { // computed
			v = psWord{}
		}
		s.run(v, "Invoke-Expression", start)
	case "invoke-command", "foreach-object", "where-object":
		if v, ok := p.get("scriptblock", 2, 0); ok && !v.block && name == "invoke-command" {
			s.run(v, "Invoke-Command", start)
		}
		return input
	case "invoke-webrequest", "invoke-restmethod":
		if file, ok := p.get("outfile", 4, -1); ok {
			url, _ := p.get("uri", 1, 0)
			s.add(Download, "Invoke-WebRequest", start, url.values(), file.values())
			return psWord{}
		}
		return psWord{net: true}
	case "new-object":
		return s.newObject(p)
	case "set-content", "add-content", "out-file", "new-item", "tee-object", "clear-content", "export-csv":
		v, ok := p.get("path", 2, -1)
		if !ok {
			v, ok = p.get("filepath", 2, 0)
		}
		if name == "clear-content" {
			s.add(Truncate, "Clear-Content", start, v.values())
		} else if t := v.values(); ok && t[0] != Unknown {
			s.add(Write, words[0].one(), start, t)
		}
	case "move-item", "rename-item", "copy-item":
		src, _ := p.get("path", 2, 0)
		dst, _ := p.get("destination", 2, 1)
		kind := Move
		if name == "copy-item" {
			kind = Copy
		}
		s.add(kind, words[0].one(), start, src.values(), dst.values())
	case "stop-process":
		if v, ok := p.get("name", 1, -1); ok {
			s.add(Exec, "Stop-Process", start, Text{"killall"}, v.values())
			break
		}
		v, ok := p.get("id", 1, 0)
		if !ok {
			s.add(Exec, "Stop-Process", start, Text{"killall"}, Text{Unknown})
			break
		}
		s.add(Kill, "Stop-Process", start, Text{"KILL"}, v.values())
	case "stop-computer", "restart-computer":
		s.add(Exec, words[0].one(), start, Text{map[string]string{"stop-computer": "poweroff", "restart-computer": "reboot"}[name]})
	case "format-volume":
		s.add(Exec, words[0].one(), start, Text{"mkfs"}, Text{"/dev/disk"})
	case "clear-disk", "initialize-disk", "remove-partition":
		s.add(Exec, words[0].one(), start, Text{"wipefs"}, Text{"-a"}, Text{"/dev/disk"})
	case "new-localuser", "set-localuser", "add-localgroupmember", "remove-localgroupmember", "add-adgroupmember", "new-aduser", "set-adaccountpassword", "set-aduser":
		s.add(Exec, words[0].one(), start, Text{"usermod"}, Text{Unknown})
	case "invoke-sqlcmd":
		if v, ok := p.get("query", 1, 0); ok {
			s.add(Statement, words[0].one(), start, v.values())
		}
	case "invoke-cimmethod", "invoke-wmimethod":
		if v, ok := p.get("methodname", 1, -1); ok && machineOff[strings.ToLower(v.one())] {
			s.add(Exec, words[0].one(), start, Text{"reboot"})
		} else if v, ok := p.get("name", 1, -1); ok && machineOff[strings.ToLower(v.one())] {
			s.add(Exec, words[0].one(), start, Text{"reboot"})
		}
	case "remove-localuser", "remove-localgroup", "disable-localuser":
		v, _ := p.get("name", 1, 0)
		s.add(Exec, words[0].one(), start, Text{"userdel"}, v.values())
	case "stop-service", "restart-service", "remove-service", "suspend-service":
		v, _ := p.get("name", 1, 0)
		s.add(Exec, words[0].one(), start, Text{"systemctl"}, Text{"stop"}, v.values())
	case "start-process":
		s.startProcess(p, start)
	case "set-location":
		if v, ok := p.get("path", 1, 0); ok {
			s.add(Chdir, "Set-Location", start, v.values())
		}
	case "get-childitem":
		return s.children(p)
	case "join-path":
		a, _ := p.get("path", 1, 0)
		b, _ := p.get("childpath", 1, 1)
		return psWord{texts: s.cat(s.cat(a.values(), Text{"/"}), b.values())}
	case "get-content":
		return psWord{}
	case "write-output", "write-host":
		if len(p.operands) == 1 {
			return p.operands[0]
		}
	case "sort-object", "select-object", "out-null", "out-string", "where", "measure-object":
		return input
	default:
		s.program(words, start)
	}
	return psWord{}
}

// machineOff are methods of the system's class that switch off or restart.
var machineOff = words("reboot shutdown win32shutdown win32shutdowntracker")

// native tells whether the options of a program that has an alias are its own: a bundle of letters, which no cmdlet takes. Where the
// program exists, PowerShell has no alias of its name.
func native(words []psWord) bool {
	switch strings.ToLower(words[0].one()) {
	case "rm", "mv", "cp", "ls", "kill":
	default:
		return false
	}
	for _, w := range words[1:] {
		if n := len(w.param); n > 1 && n < 5 && strings.Trim(w.param, "rfvid") == "" {
			return true
		}
	}
	return false
}

func (s *psScan) newObject(p psParams) psWord {
	t, _ := p.get("typename", 1, 0)
	name := strings.TrimPrefix(strings.ToLower(t.one()), "system.")
	switch name {
	case "net.webclient", "net.http.httpclient":
		return psWord{typ: "net.webclient", net: true}
	case "net.sockets.tcpclient", "net.sockets.tcplistener":
		s.flags.socket = true
		return psWord{net: false, typ: name}
	}
	return psWord{typ: name}
}

func (s *psScan) startProcess(p psParams, start int) {
	prog, _ := p.get("filepath", 1, 0)
	argv := []Text{prog.values()}
	args, ok := p.get("argumentlist", 1, 1)
	if ok {
		list := args.list
		if len(list) == 0 {
			for _, f := range strings.Fields(args.one()) {
				argv = append(argv, Text{f})
			}
		}
		for _, a := range list {
			argv = append(argv, a.values())
		}
	}
	s.add(Exec, "Start-Process", start, argv...)
}

// children is what a directory holds.
func (s *psScan) children(p psParams) psWord {
	v, ok := p.get("path", 1, 0)
	if !ok {
		return psText("./" + anyName)
	}
	var out Text
	for _, t := range v.values() {
		if !strings.ContainsAny(t, "*?") {
			t = strings.TrimRight(t, "/") + "/*"
		}
		t, _ = pattern(t)
		out = append(out, t)
	}
	return psWord{texts: out}
}

// keywords are words that begin a statement which is no command.
var psKeywords = words("if else elseif while for foreach do until switch function filter param return try catch finally throw begin process end in using class enum exit break continue trap data")

// program starts a program of the system.
func (s *psScan) program(words []psWord, start int) {
	name := words[0].one()
	if psKeywords[strings.ToLower(name)] || name == "" || digit(name[0]) || name == Unknown && len(words) == 1 {
		return
	}
	if strings.Contains(name, "-") && !strings.ContainsAny(name, "/.") && letter(name[0]) && verb(name) && !s.harms(words) {
		return // a cmdlet that does no harm
	}
	var argv []Text
	for _, w := range words {
		if w.param == "," || w.block {
			continue
		}
		argv = append(argv, w.values())
	}
	s.add(Exec, name, start, argv...)
}

// psHarms are verbs of cmdlets that take something away, whatever the noun; psMild are nouns that only live in the session.
var (
	psHarms = words("remove uninstall disable clear stop unregister reset revoke dismount suspend initialize")
	psMild  = words("variable alias psdrive job module typedata event eventsubscriber pssession psbreakpoint history host transcript culture psreadlinekeyhandler " +
		"pshostprocess error formatdata cimsession debugger")
	// psSets are cmdlets that switch a protection off when one of their values says so.
	psSets = map[string]string{"set-executionpolicy": "unrestricted bypass", "set-mppreference": "$true 1", "add-mppreference": "", "set-netfirewallprofile": "false $false",
		"set-service": "disabled stopped", "set-netfirewallrule": "false allow", "set-smbserverconfiguration": "", "set-processmitigation": "", "set-acl": ""}
)

// harms tells whether a cmdlet without a row of its own takes something away or switches a protection off.
func (s *psScan) harms(args []psWord) bool {
	name := strings.ToLower(args[0].one())
	v, noun, _ := strings.Cut(name, "-")
	if psHarms[v] && (!psMild[noun] || v == "uninstall") {
		return true
	}
	values, ok := psSets[name]
	if !ok || values == "" {
		return ok
	}
	set := words(values)
	return slices.ContainsFunc(args[1:], func(w psWord) bool { return set[strings.ToLower(w.one())] })
}

// IsCmdlet tells whether a program's name is a cmdlet's.
func IsCmdlet(name string) bool { return verb(name) }

// verb tells whether a name is a cmdlet's: Verb-Noun.
func verb(name string) bool {
	v, noun, ok := strings.Cut(strings.ToLower(name), "-")
	return ok && noun != "" && psVerbs[v]
}

var psVerbs = words("get set new add remove write read out test start stop import export select sort where foreach measure convert convertfrom convertto invoke " +
	"join split format group compare copy move rename clear enable disable register unregister update install uninstall find save publish wait push pop resolve " +
	"enter exit use show hide lock unlock protect unprotect grant revoke debug trace tee restart resume suspend mount dismount compress expand limit reset receive send initialize")
