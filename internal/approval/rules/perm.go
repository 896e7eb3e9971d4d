package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func permRows() []Row {
	return []Row{
		{
			ID: "perm.setuid", Key: "set-uid or capability", Family: "permission", Remember: RememberAll,
			Matches:  "the set-uid or set-gid bit, octal or symbolic, and file capabilities",
			Programs: []string{"chmod", "gchmod", "install", "setcap"}, Match: permSetuid,
			Examples: []string{"chmod u+s x", "chmod 4755 x", "chmod +s /bin/bash", "chmod 6755 x", "chmod ug+s x", "setcap cap_setuid+ep x",
				"install -m 4755 a b", "chmod u=rwxs x", "chmod 04755 x",
				"chmod -R u+s d", "chmod a+x,u+s x", "chmod 2755 x", "install --mode=u+s a b", "setcap cap_net_raw=ep x"},
			LookAlikes: []string{"chmod u-s x", "chmod 755 x", "chmod +x x", "getcap x", "setcap -r x", "chmod 0755 x", "chmod +t d", "chmod 1777 d",
				"chmod u=rwx x", "find / -perm -4000", "setcap -v cap_net_raw=ep x"},
		},
		{
			ID: "perm.recursive", Key: "recursive ownership or permission change", Family: "permission", Remember: RememberAll,
			Matches: "chown, chgrp, chmod or an ACL change of whole directories outside the workspace, anywhere when it gives to root or locks the owner out, " +
				"system files given away or locked, and immutable flags",
			Programs: []string{"chown", "gchown", "chgrp", "chmod", "gchmod", "setfacl", "chattr", "chflags", "chcon", "icacls", "takeown", "cacls",
				"attrib"}, Match: permRecursive,
			Examples: []string{"chown -R ann /srv/x", "chmod -R 755 /etc", "chmod -R 000 .", "chown -R root .", "chown --recursive root:root src",
				"chmod -R a-rwx x", "chattr +i x", "chattr -R +i d",
				"chmod -R u-w x", "chown -hR ann ~", "sudo chown -R ann:ann /usr/local", "chgrp -R staff /var/x", "setfacl -R -m u:bob:rwx /srv",
				"chown -R 0:0 .", "chmod -R 644 src", "chflags -R schg d",
				"chmod 000 /etc/passwd", "chown nobody /etc/shadow", "find /etc -exec chown ann {} +", "chattr -i /etc/resolv.conf",
				"chmod -x /bin/ls", "chmod --rec 700 /opt/x", "takeown /r /f x"},
			LookAlikes: []string{"chown -R ann .", "chmod -R 755 .", "chmod -R u+rwX src", "chmod 644 x", "chown root x", "chmod -R go-w .",
				"chmod -R 755 /tmp/x", "lsattr x", "getfacl -R .", "chattr -d x",
				"chmod 644 /etc/nginx/nginx.conf", "chown root:root /etc/x", "chmod +x ./x", "chown ann x", "chmod -R a+rX docs",
				"chmod -R a-x,a+X docs", "chgrp -R staff src", "chmod 600 ~/.ssh/id_rsa", "setfacl -m u:bob:r x"},
		},
		{
			ID: "perm.world", Key: "world/other-writable permissions", Family: "permission", Remember: RememberAll, Smart: true,
			Matches:  "a mode or an access list that lets everybody write",
			Programs: []string{"chmod", "gchmod", "mkdir", "install", "setfacl", "icacls", "cacls", "umask"}, Match: permWorld,
			Examples: []string{"chmod 777 x", "chmod -R 777 .", "chmod 0777 x", "chmod 666 x", "chmod o+w x", "chmod a+rwx x", "chmod go+w x",
				"chmod ugo=rwx x", "chmod 1777 d", "chmod a=rw x", "chmod u+x,o+w x",
				"mkdir -m 777 x", "install -m 0777 a b", "setfacl -m o::rw x", "icacls x /grant Everyone:F", "chmod o=u x", "chmod 777 -R x",
				"chmod -- 777 x", "find . -exec chmod 777 {} +", "umask 000",
				"setfacl -m other:rwx x", "chmod o=rwx x", "chmod 757 x", "chmod 2777 x"},
			LookAlikes: []string{"chmod 755 x", "chmod 644 x", "chmod +x x", "chmod o-w x", "chmod 775 x", "chmod u+w x", "chmod g+w x", "chmod +w x",
				"chmod 700 x", "mkdir -m 755 x", "setfacl -m u:bob:rw x",
				"setfacl -m o::r x", "chmod a-w x", "chmod a+r x", "chmod --reference=a b", "umask 022", "ls -l 777", "chmod o=r x", "chmod a+rX x",
				"stat -c %a 777", "chmod -w x"},
		},
	}
}

// change is a change of owner, group or mode.
type change struct {
	what      analysis.Word // mode or owner
	paths     []analysis.Word
	recursive bool
}

// change reads chmod, chown and chgrp. A mode may look like options.
func (a *Act) change() change {
	args := a.Args(analysis.Grammar{Long: []string{"reference", "from"}})
	c := change{paths: args.Operands, recursive: args.Has("R") || args.Long("recursive", 3) || a.Under(fanners...)}
	if len(args.Values["reference"]) > 0 {
		return c
	}
	if strings.HasSuffix(a.Program, "chmod") {
		for _, w := range a.Words[1:] {
			if w.Text == "--" {
				break
			}
			if len(w.Text) > 1 && w.Text[0] == '-' && strings.Trim(w.Text[1:], "rwxXstugoa,-+=") == "" {
				c.what = w
				return c
			}
		}
	}
	if len(c.paths) > 0 {
		c.what, c.paths = c.paths[0], c.paths[1:]
	}
	return c
}

// octal gives the digits of an octal mode, four of them.
func octal(mode string) (string, bool) {
	mode = strings.TrimLeft(mode, "+=")
	if mode == "" || len(mode) > 6 || strings.Trim(mode, "01234567") != "" {
		return "", false
	}
	mode = "0000" + mode
	return mode[len(mode)-4:], true
}

// clause is one part of a symbolic mode.
type clause struct {
	who   string // u g o a; "" is all that the mask lets through
	op    byte
	perms string
}

func symbolic(mode string) []clause {
	var out []clause
	for part := range strings.SplitSeq(mode, ",") {
		i := strings.IndexAny(part, "+-=")
		if i < 0 || strings.Trim(part[:i], "ugoa") != "" {
			return nil
		}
		who := part[:i]
		for i < len(part) {
			end := i + 1
			for end < len(part) && strings.IndexByte("+-=", part[end]) < 0 {
				end++
			}
			out = append(out, clause{who, part[i], part[i+1 : end]})
			i = end
		}
	}
	return out
}

// opens tells whether a mode lets everybody write.
func opens(mode string) bool {
	if digits, ok := octal(mode); ok {
		return (digits[3]-'0')&2 != 0
	}
	return slices.ContainsFunc(symbolic(mode), func(c clause) bool {
		return c.op != '-' && strings.ContainsAny(c.who, "oa") && (strings.Contains(c.perms, "w") || c.perms == "u" || c.perms == "g" && c.who == "o")
	})
}

// elevates tells whether a mode sets the set-uid or the set-gid bit.
func elevates(mode string) bool {
	if digits, ok := octal(mode); ok {
		return (digits[0]-'0')&6 != 0
	}
	return slices.ContainsFunc(symbolic(mode), func(c clause) bool {
		return c.op != '-' && strings.Contains(c.perms, "s") && c.who != "o"
	})
}

// locks tells whether a mode takes from the owner what is needed: of files, reading; of whole directories, anything.
func locks(mode string, recursive bool) bool {
	if digits, ok := octal(mode); ok {
		if recursive {
			return digits[1] != '7'
		}
		return (digits[1]-'0')&4 == 0
	}
	clauses := symbolic(mode)
	again := slices.ContainsFunc(clauses, func(c clause) bool {
		return c.op == '+' && strings.ContainsAny(c.perms, "xX") && !strings.ContainsAny(c.who, "go")
	})
	return slices.ContainsFunc(clauses, func(c clause) bool {
		if c.who != "" && !strings.ContainsAny(c.who, "ua") {
			return false
		}
		switch c.op {
		case '-':
			if again && strings.Trim(c.perms, "xX") == "" {
				return false // directories get it back
			}
			return recursive && strings.ContainsAny(c.perms, "rwxX") || strings.ContainsAny(c.perms, "rx")
		case '=':
			if strings.ContainsAny(c.perms, "ugo") {
				return false
			}
			return !strings.Contains(c.perms, "r") || recursive && (!strings.Contains(c.perms, "w") || !strings.ContainsAny(c.perms, "xX"))
		}
		return false
	})
}

// modes lists the modes that a command gives, and what it gives them to.
func (a *Act) modes() (modes []string, paths []analysis.Word) {
	if strings.HasSuffix(a.Program, "chmod") {
		c := a.change()
		return plainValues(c.what), c.paths
	}
	args := a.Args(analysis.Grammar{Short: "mgotSZ", Long: []string{"mode", "group", "owner", "suffix", "target-directory", "context"}, Brief: true})
	for _, w := range slices.Concat(args.Values["m"], args.Values["mode"]) {
		modes = append(modes, plainValues(w)...)
	}
	return modes, args.Operands
}

func plainValues(w analysis.Word) []string {
	var out []string
	for _, v := range w.Values() {
		if analysis.Literal(v) {
			out = append(out, v)
		}
	}
	return out
}

func permWorld(a *Act) []Hit {
	switch a.Program {
	case "setfacl":
		return when(slices.ContainsFunc(a.Words[1:], aclOpens), a, "lets everybody write")
	case "icacls", "cacls":
		return when(slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool {
			who, rights, ok := strings.Cut(strings.ToLower(w.Text), ":")
			return ok && (who == "everyone" || who == "*s-1-1-0" || who == "users" || who == "jeder") && strings.ContainsAny(rights, "fmwc")
		}), a, "lets everybody write")
	case "umask":
		return when(len(a.Words) == 2 && a.Words[1].Text != "" && strings.Trim(a.Words[1].Text, "0") == "", a, "lets everybody write to new files")
	}
	modes, paths := a.modes()
	if !slices.ContainsFunc(modes, opens) {
		return nil
	}
	return a.about("lets everybody write", paths)
}

// aclOpens tells whether an entry of an access list lets others write.
func aclOpens(w analysis.Word) bool {
	for entry := range strings.SplitSeq(w.Text, ",") {
		f := strings.Split(strings.TrimPrefix(strings.TrimPrefix(entry, "default:"), "d:"), ":")
		if n := len(f); n > 1 && (f[0] == "o" || f[0] == "other") && strings.ContainsAny(f[n-1], "w67") {
			return true
		}
	}
	return false
}

func when(ok bool, a *Act, reason string) []Hit {
	if !ok {
		return nil
	}
	return []Hit{{Reason: reason + ": " + a.Line()}}
}

// about is a hit on what words name, also where that isn't known.
func (a *Act) about(reason string, words []analysis.Word) []Hit {
	if hits := one(reason, a.each(words, func(analysis.Target) bool { return true })); hits != nil {
		return hits
	}
	return []Hit{{Reason: reason + ": " + a.Line()}}
}

func permSetuid(a *Act) []Hit {
	if a.Program == "setcap" {
		args := a.Args(analysis.Grammar{Short: "n"})
		return when(len(args.Operands) > 0 && !args.Has("rvh"), a, "gives a program rights of the administrator")
	}
	modes, paths := a.modes()
	if !slices.ContainsFunc(modes, elevates) {
		return nil
	}
	return a.about("lets a program run with another's rights", paths)
}

func permRecursive(a *Act) []Hit {
	switch a.Program {
	case "chattr":
		return a.chattr()
	case "chflags":
		args := a.Args(analysis.Grammar{})
		return when(len(args.Operands) > 0 && slices.ContainsFunc([]string{"schg", "uchg", "sappnd", "uappnd", "simmutable", "uimmutable", "noschg"},
			func(f string) bool { return strings.Contains(args.Operands[0].Text, f) }), a, "sets or clears immutable flags")
	case "icacls", "cacls", "takeown", "attrib":
		return when(a.option([]string{"/t", "/r", "/s", "/reset"}, true), a, "changes rights of whole directories")
	case "setfacl", "chcon":
		args := a.Args(analysis.Grammar{Short: "mxMXturl", Long: []string{"modify", "remove", "reference", "user", "role", "type", "range"}})
		if !args.Has("R") && !args.Long("recursive", 3) {
			return nil
		}
		return one("changes rights of whole directories outside the workspace", a.each(args.Operands, outside))
	}
	c := a.change()
	grave, reason := a.givesAway(c)
	switch {
	case !c.recursive:
		if a.closes(c) {
			return one("gives away or locks a system file, a home or its keys", a.each(c.paths, func(t analysis.Target) bool {
				return t.Class == analysis.ClassSystem || t.Class == analysis.ClassSystemRoot || t.Class == analysis.ClassRoot ||
					strings.HasSuffix(a.Program, "chmod") && (t.Class == analysis.ClassHomeRoot || t.Kind == analysis.KindKeys)
			}))
		}
		return nil
	case grave:
		return a.about(reason, c.paths)
	}
	return one("changes whole directories outside the workspace", a.each(c.paths, outside))
}

// chattr tells whether a flag is set that keeps files from being changed or deleted, or taken from a system file.
func (a *Act) chattr() []Hit {
	set, cleared := false, false
	for _, w := range a.Words[1:] {
		if len(w.Text) < 2 || !strings.ContainsAny(w.Text[1:], "ia") {
			continue
		}
		set = set || w.Text[0] == '+' || w.Text[0] == '='
		cleared = cleared || w.Text[0] == '-' && w.Text != "--" && strings.Contains(w.Text, "i")
	}
	switch args := a.Args(analysis.Grammar{Short: "vp"}); {
	case set:
		return []Hit{{Reason: "makes files immutable: " + a.Line()}}
	case cleared:
		return one("takes the immutable flag from", a.each(args.Operands, func(t analysis.Target) bool { return protected(t) || grave(t) }))
	}
	return nil
}

// outside tells which targets of a recursive change are neither the workspace's nor temporary.
func outside(t analysis.Target) bool {
	switch t.Class {
	case analysis.ClassWorkspace, analysis.ClassTemp, analysis.ClassUnknown, analysis.ClassInner:
		return false
	}
	return true
}

// givesAway tells whether a recursive change gives to root, or locks the owner out.
func (a *Act) givesAway(c change) (bool, string) {
	for _, v := range plainValues(c.what) {
		switch {
		case strings.HasSuffix(a.Program, "chmod"):
			named := func(w analysis.Word) bool { return analysis.Known(w.Text) } // what is fanned out are files, most often
			if locks(v, true) && (!a.Under(fanners...) || slices.ContainsFunc(c.paths, named)) {
				return true, "locks the owner out of"
			}
		case strings.HasSuffix(a.Program, "chown"):
			owner, _, _ := strings.Cut(strings.TrimPrefix(v, "+"), ":")
			if owner == "root" || owner == "0" {
				return true, "gives to the administrator"
			}
		}
	}
	return false, ""
}

// closes tells whether a change of single files gives them to somebody, or lets nobody read them.
func (a *Act) closes(c change) bool {
	return slices.ContainsFunc(plainValues(c.what), func(v string) bool {
		if strings.HasSuffix(a.Program, "chmod") {
			return locks(v, false)
		}
		owner, _, _ := strings.Cut(strings.TrimPrefix(v, "+"), ":")
		return a.Program != "chgrp" && owner != "" && owner != "root" && owner != "0"
	})
}
