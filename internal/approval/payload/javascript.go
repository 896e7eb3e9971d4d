package payload

import (
	"maps"
	"strings"
)

// javascript is what node, deno and bun run, TypeScript among it.
func javascript() *language {
	l := &language{
		syntax: syntax{
			comments: []string{"//", "#!"}, blocks: [][2]string{{"/*", "*/"}}, sigils: "$#", inName: "$",
			quotes: []quoting{{open: `"`, close: `"`, line: true}, {open: "'", close: "'", line: true}, {open: "`", close: "`", inner: "${"}},
			ops: []string{"===", "!==", "...", "**=", "||=", "&&=", "??=", "=>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "?.", "??", "||", "&&", "++", "--",
				"<<", ">>", "**"},
			special: javascriptSpecial,
		},
		member: []string{".", "?."}, commas: true, strip: []string{"globalThis.", "global.", "window.", "self.", "process.mainModule.", "mainModule.", "module.", "root.", "node:"},
		prefix:    words("await new typeof void delete return throw yield async const let var export default else case if while do try finally in of"),
		classes:   words("URL Deno.Command"),
		callbacks: words("forEach map filter some every flatMap then reduce apply call bind setImmediate nextTick promisify queueMicrotask"),
		envs:      []string{"process.env", "Deno.env", "Bun.env"},
		tagged:    words("$ zx.$ Bun.$ bun.$ execa.$ #$ String.raw eval execSync child_process.execSync"),
		statement: javascriptStatement,
	}
	l.attrs = map[string]func(*scan) value{
		"process.argv": programArgs("node"), "Deno.args": programArgs(), "path.sep": constant("/"), "__dirname": constant("."),
		"os.devNull": constant("/dev/null"), "constructor.constructor": func(*scan) value { return symbol("Function") },
	}
	l.calls = with(javascriptCalls())
	return l
}

// javascriptSpecial reads patterns and the name $.
func javascriptSpecial(l *lexer) bool {
	if l.text[l.at] == '$' && l.at+1 < len(l.text) && !letter(l.text[l.at+1]) && !digit(l.text[l.at+1]) && l.text[l.at+1] != '$' {
		l.add(tokName, l.at+1, "$")
		return true
	}
	return regex(l)
}

// regex skips a regular expression where one can stand.
func regex(l *lexer) bool {
	if l.text[l.at] != '/' || l.afterValue() {
		return false
	}
	set := false
	for i := l.at + 1; i < len(l.text) && l.text[i] != '\n'; i++ {
		switch c := l.text[i]; {
		case c == '\\':
			i++
		case c == '[':
			set = true
		case c == ']':
			set = false
		case c == '/' && !set:
			for i++; i < len(l.text) && letter(l.text[i]); i++ {
			}
			l.add(tokNumber, i, l.text[l.at:i])
			return true
		}
	}
	return false
}

func javascriptStatement(s *scan, end int) bool {
	t := s.peek()
	if t.kind != tokName {
		return false
	}
	switch t.text {
	case "import":
		if s.isAt(s.i+1, "(") || s.isAt(s.i+1, ".") {
			return false
		}
		s.javascriptImport(end)
	case "const", "let", "var":
		if !s.isAt(s.i+1, "{") && !s.isAt(s.i+1, "[") {
			return false
		}
		s.destructure(end)
	case "for":
		s.javascriptFor(end)
	case "while", "if", "switch", "catch":
		if !s.isAt(s.i+1, "(") {
			return false
		}
		stop := s.close(s.i+1, end)
		s.i += 2
		s.list(stop, end)
	case "class":
		s.i++
	case "else", "do", "try", "finally":
		s.i++
	default:
		return s.methodDefinition(end)
	}
	return true
}

// methodDefinition reads name(params) { in a class.
func (s *scan) methodDefinition(end int) bool {
	if s.blocks == 0 || !s.isAt(s.i+1, "(") {
		return false
	}
	stop := s.close(s.i+1, end)
	if !s.isAt(stop+1, "{") || s.toks[s.i].text == "function" {
		return false
	}
	s.function("", s.i+1, end)
	return true
}

// javascriptImport reads import x from 'm', import * as x from 'm', import {a as b} from 'm'.
func (s *scan) javascriptImport(end int) {
	s.i++
	from := s.i
	for s.i < end && s.toks[s.i].kind != tokString && !s.is(";") && s.i < from+400 {
		s.i++
	}
	if s.i >= end || s.toks[s.i].kind != tokString {
		s.i = from
		return
	}
	module := moduleName(s.toks[s.i].text)
	stop := s.i
	s.i++
	braces := false
	for i := from; i < stop; i++ {
		t := s.toks[i]
		switch {
		case t.text == "{":
			braces = true
		case t.text == "}":
			braces = false
		case t.kind != tokName || t.text == "from" || t.text == "as" || t.text == "type":
		case braces:
			name := s.bare(module + "." + t.text)
			if s.isAt(i+1, "as") && i+2 < stop {
				i += 2
			}
			s.assign(s.toks[i].text, symbol(name))
		default:
			s.assign(t.text, symbol(module))
		}
	}
}

// moduleName takes off what doesn't tell modules apart.
func moduleName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "node:"), "npm:")
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	switch name {
	case "fs/promises", "fs-extra", "graceful-fs", "fs.promises", "fs/promises.default":
		return "fs"
	}
	return strings.ReplaceAll(name, "/", ".")
}

// destructure reads const {a, b: c} = value.
func (s *scan) destructure(end int) {
	open := s.i + 1
	stop := s.close(open, end)
	s.i = stop + 1
	if !s.is("=") {
		return
	}
	s.i++
	v := s.expr(end)
	n := 0
	for i := open + 1; i < stop; i++ {
		t := s.toks[i]
		if t.text == "," {
			n++
			continue
		}
		if t.kind != tokName && t.kind != tokString {
			continue
		}
		name := t.text
		if s.isAt(i+1, ":") && i+2 < stop {
			i += 2
		}
		if s.isAt(open, "[") {
			item := value{}
			if v.isList && n < len(v.list) {
				item = v.list[n]
			}
			s.assign(s.toks[i].text, item)
			continue
		}
		s.assign(s.toks[i].text, s.memberOf(v, name))
		for i+1 < stop && !s.isAt(i+1, ",") {
			i++
		}
	}
}

// javascriptFor reads for (const x of list).
func (s *scan) javascriptFor(end int) {
	s.i++
	if s.is("await") {
		s.i++
	}
	if !s.is("(") {
		return
	}
	open := s.i
	stop := s.close(open, end)
	for i := open + 1; i < stop && i < open+12; i++ {
		if s.isAt(i, "of") {
			names := s.names(open+1, i)
			if s.isAt(open+2, "[") {
				names = s.names(open+3, i-1)
			}
			s.i = i + 1
			s.inside++
			list := s.expr(stop)
			s.inside--
			s.bind(names, list)
			s.i = min(stop+1, end)
			return
		}
	}
	s.i = open + 1
	s.list(stop, end)
}

func javascriptCalls() map[string]handler {
	m := map[string]handler{
		"require": requires, "import": requires, "process.binding": nothing, "module.createRequire": func(*scan, *call) value { return symbol("require") },
		"createRequire":       func(*scan, *call) value { return symbol("require") },
		"child_process.spawn": spawns, "child_process.spawnSync": spawns, "child_process.execFile": spawns, "child_process.execFileSync": spawns,
		"child_process.fork": forkModule, "cross-spawn": spawns, "cross-spawn.sync": spawns, "execa": spawns, "execa.sync": spawns, "execa.execa": spawns,
		"execa.execaSync": spawns, "execa.execaCommand": shellFirst, "execa.execaCommandSync": shellFirst, "execa.$": shellFirst, "zx.$": shellFirst,
		"$": dollar, "#$": dollar, "Bun.$": shellFirst, "bun.$": shellFirst, "Bun.spawn": bunSpawn, "Bun.spawnSync": bunSpawn,
		"Deno.run": denoRun, "Deno.Command": denoCommand, "shelljs.exec": shellFirst, "shelljs.rm": shellRm,
		"fs.rmdir": removes, "fs.rmdirSync": removes, "fs.promises.rmdir": removes, "fs.rm": removes, "fs.rmSync": removes, "fs.promises.rm": removes,
		"Deno.remove": removes, "Deno.removeSync": removes, "fs.rename": two(Move), "fs.renameSync": two(Move), "fs.promises.rename": two(Move),
		"Deno.rename": two(Move), "Deno.renameSync": two(Move), "fs.move": two(Move), "fs.moveSync": two(Move),
		"fs.symlink": two(Link), "fs.symlinkSync": two(Link), "fs.linkSync": two(Link), "fs.chmod": chmodPath, "fs.chmodSync": chmodPath,
		"fs.promises.chmod": chmodPath, "Deno.chmod": chmodPath, "Deno.chmodSync": chmodPath, "fs.chown": chownPath, "fs.chownSync": chownPath,
		"fs.lchownSync": chownPath, "fs.promises.chown": chownPath, "fs.truncate": truncates, "fs.truncateSync": truncates, "Deno.truncateSync": truncates,
		"Deno.truncate": truncates, "console.log": prints, "process.stdout.write": putsOut, "fs.open": openMode, "fs.openSync": openMode, "fs.promises.open": openMode, "process.chdir": chdirs, "Deno.chdir": chdirs, "process.kill": kills, "Deno.kill": kills,
		"eval": evals, "Function": functionOf, "setTimeout": timers, "setInterval": timers, "vm.runInThisContext": evals, "vm.runInNewContext": evals,
		"vm.runInContext": evals, "vm.Script": evals, "vm.compileFunction": evals, "#constructor": constructs, "#_compile": evals,
		"String.fromCharCode": characters, "String.fromCodePoint": characters, "String": argText, "Buffer.from": bufferFrom, "Buffer": bufferFrom, "atob": decodeArg("base64"),
		"unescape": decodeArg("url"), "decodeURIComponent": decodeArg("url"), "decodeURI": decodeArg("url"), "zlib.inflateSync": decodeArg("zlib"),
		"zlib.gunzipSync": decodeArg("gzip"), "zlib.unzipSync": decodeArg("zlib"), "path.join": jsJoin, "path.resolve": joinPaths, "path.posix.join": jsJoin, "path.normalize": argText,
		"path.dirname": dirName, "os.homedir": homeDir, "os.tmpdir": constantCall("/tmp"), "process.cwd": constantCall("."), "Deno.cwd": constantCall("."),
		"Deno.env.get": getEnv, "fs.mkdtempSync": temporary("/tmp"), "Deno.makeTempDirSync": temporary("/tmp"), "Deno.makeTempDir": temporary("/tmp"),
		"fs.readdirSync": entries, "fs.readdir": entries, "fs.promises.readdir": entries, "fs.globSync": globbed, "glob.sync": globbed, "glob.globSync": globbed, "glob": globbed,
		"fetch": fetched, "axios.get": fetched, "axios": fetched, "got": fetched, "node-fetch": fetched, "https.get": netCallback, "http.get": netCallback,
		"https.request": netCallback, "http.request": netCallback, "net.connect": sockets, "net.createConnection": sockets, "net.Socket": sockets,
		"tls.connect": sockets, "Deno.connect": sockets, "net.createServer": sockets, "rimraf": treeFirst, "rimraf.sync": treeFirst, "rimraf.rimraf": treeFirst,
		"rimraf.rimrafSync": treeFirst, "del": trees, "del.sync": trees, "del.deleteAsync": trees, "del.deleteSync": trees, "fs.remove": treeFirst, "fs.removeSync": treeFirst, "fs.emptyDir": treeFirst,
		"fs.emptyDirSync": treeFirst, "trash": trees, "#unlinkSync": unlinkFirst, "#rmSync": removes, "#rmdirSync": removes, "#execSync": shellFirst, "#slice": nothing,
		"Object.assign": argText, "Array.from": argText, "Promise.all": argText, "JSON.stringify": nothing, "JSON.parse": nothing, "util.promisify": argSelf,
		"promisify": argSelf, "Reflect.get": getAttr, "Reflect.apply": applies, "#call": calls, "#apply": applied, "#bind": bound, "#toSorted": selfText, "#text": selfText, "#exec": queries, "#run": queries, "#prepare": queries, "#values": selfText,
		"#json": selfText, "#then": thens, "#spawn": nothing, "Deno.makeTempFile": temporary("/tmp"), "Bun.write": writeFirst, "Bun.file": argText, "#terminate": nothing, "#flushall": flushes, "#flushAll": flushes, "#flushdb": flushes, "#dropDatabase": drops, "#dropCollection": drops, "#dropTable": drops, "#dropSchema": drops,
	}
	all(m, shellFirst, "child_process.exec child_process.execSync")
	all(m, unlinkFirst, "fs.unlink fs.unlinkSync fs.promises.unlink")
	all(m, writeFirst, "fs.writeFile fs.writeFileSync fs.appendFile fs.appendFileSync fs.createWriteStream fs.promises.writeFile fs.promises.appendFile "+
		"fs.outputFile fs.outputFileSync fs.writeJson fs.writeJsonSync Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Deno.writeFileSync Deno.create fs.mkdirSync")
	all(m, readFirst, "fs.readFile fs.readFileSync fs.promises.readFile fs.createReadStream Deno.readTextFile Deno.readTextFileSync Deno.readFile Deno.readFileSync")
	all(m, two(Copy), "fs.copyFile fs.copyFileSync fs.cp fs.cpSync fs.copy fs.copySync fs.promises.copyFile fs.promises.cp Deno.copyFile Deno.copyFileSync")
	delete(m, "fs.mkdirSync")
	out := maps.Clone(m)
	for name, h := range m { // what a module that is only known by its usual name gives
		for long, short := range map[string]string{"child_process.": "cp.", "fs.promises.": "fsp.", "fs.": "fsPromises."} {
			if rest, ok := strings.CutPrefix(name, long); ok && out[short+rest] == nil {
				out[short+rest] = h
			}
		}
	}
	return out
}
