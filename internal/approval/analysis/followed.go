package analysis

import (
	"path"
	"slices"
	"strings"
)

// maxFollowed bounds how many files of one text are remembered (A29).
const maxFollowed = 1000

// file is what the text itself makes of a file.
type file struct {
	origin FileOrigin
	text   string // what it holds, when known
	lang   string // of a compiled program: the language of that text, which is its source
	known  bool

	program string // a known program of the system, under a name of its own
}

// Made tells of the files that the text makes, by absolute path, how each comes to be.
func (r *Reading) Made(each func(path string, o FileOrigin)) {
	for p, f := range r.made {
		if strings.HasPrefix(p, "/") {
			each(p, f.origin)
		}
	}
}

// fetchers bring files and text from the network.
var fetchers = []string{"curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "w3m", "links", "ftp", "lftp", "nc", "ncat", "netcat",
	"socat", "axel", "curlie", "telnet", "wget2", "tftp"}

func fetches(c *Command) bool { return slices.Contains(fetchers, c.Program) }

// remember notes what a command makes of a file.
func (r *reader) remember(st *state, c *Command, w Word, f file) {
	if c.Inside != nil || len(r.files) >= maxFollowed {
		return
	}
	for _, v := range w.Values() {
		for _, d := range st.dirs {
			p := Join(d, v)
			if !followable(p, f) || p == "/dev/null" {
				continue
			}
			if r.files == nil {
				r.files = map[string]file{}
			}
			r.files[p] = f
		}
	}
}

// followable tells whether a path is known well enough to be met again. One variable that isn't known looks like another, which is
// taken for the same only where that is the graver case.
func followable(p string, f file) bool {
	return Literal(p) || !strings.Contains(p, markStar) && !strings.Contains(p, markAny) && (f.origin == FileDownloaded || Head(p) != "")
}

// fileAt tells what the session knows of a file.
func (r *reader) fileAt(p string) (f file, ok bool) {
	if f, ok = r.files[p]; ok {
		return f, true
	}
	for _, dir := range r.trees {
		if strings.HasPrefix(p, dir+"/") {
			return file{origin: FileDownloaded}, true
		}
	}
	if !Literal(p) || r.in.Files == nil || !strings.HasPrefix(p, "/") {
		return f, false
	}
	r.spend(stepsText)
	f.origin = r.in.Files.Origin(p)
	if to := r.out.resolve(p, len(r.out.Commands)); to != p {
		named := f.origin
		if f.origin = r.in.Files.Origin(to); f.origin == "" && named != "" { // a name that the session gave to something else
			f.origin, f.program = named, programName(to[strings.LastIndexByte(to, '/')+1:])
			return f, r.known(f.program)
		}
		p = to
	}
	switch f.origin {
	case FileWritten:
		if r.spend(stepsFile) {
			f.text, f.known = r.in.Files.Text(p)
		}
	case FileDownloaded:
	default:
		return f, false
	}
	f.known = f.known && len(f.text) <= MaxFile && strings.IndexByte(f.text, 0) < 0
	return f, true
}

// ranFile marks a command as one that runs a file which came from the network.
func (r *reader) ranFile(p string, c *Command) bool {
	f, ok := r.fileAt(p)
	if !ok || f.origin != FileDownloaded {
		return false
	}
	r.runsFile(c, p, f)
	return true
}

func (r *reader) runsFile(c *Command, p string, f file) {
	if c.index >= 0 && c.index < len(r.out.Commands) {
		r.out.Commands[c.index].Runs = &FileRun{Path: p, Origin: f.origin}
	}
}

func (r *reader) ranFileAt(st *state, w Word, c *Command) {
	for _, v := range w.Values() {
		for _, d := range st.dirs {
			r.ranFile(Join(d, v), c)
		}
	}
}

// ranFlow does so for files that the commands of a flow print.
func (r *reader) ranFlow(c *Command, from Flow) {
	for i := from.Start; i < min(from.End, len(r.out.Commands)); i++ {
		source := &r.out.Commands[i]
		for _, w := range source.Words[min(1, len(source.Words)):] {
			for _, d := range source.Dirs {
				if r.ranFile(Join(d, w.Text), c) {
					return
				}
			}
		}
	}
}

// follow follows a file that a command runs: one that the text or the session brought is read, or is opaque. A person's own isn't opened.
func (r *reader) follow(st *state, w Word, c *Command, lang interpreter, at place) {
	if at.inside != nil {
		return
	}
	for _, v := range w.Values() {
		for _, d := range st.dirs {
			p := Join(d, v)
			f, ok := r.fileAt(p)
			if !ok || f.program != "" {
				continue
			}
			r.runsFile(c, p, f)
			if f.origin == FileDownloaded {
				return
			}
			if at.scripts.holds(p) { // it comes to itself again
				if at.background || at.piped {
					r.note(NoteBomb, w.Span, Show(p)+" starts copies of itself without end")
				}
				return
			}
			at.scripts = &scriptStack{p, at.scripts}
			st.name = v
			text := Word{Text: f.text, Span: w.Span}
			switch {
			case f.known:
				if r.fold(len(f.text)); r.full {
					return
				}
				r.runTexts(st, []Word{text}, c, lang, at)
			case lang.shell:
				r.out.Notes = append(r.out.Notes, Note{NoteOpaque, w.Span, "what stands in " + Show(p) + ", which this session wrote, isn't known", c.index})
			default:
				r.codeNote(w.Span, "what stands in "+Show(p)+", which this session wrote, isn't known", c)
			}
			return
		}
	}
}

// scriptStack are the files being read, the innermost first.
type scriptStack struct {
	path string
	next *scriptStack
}

func (s *scriptStack) holds(path string) bool {
	for ; s != nil; s = s.next {
		if s.path == path {
			return true
		}
	}
	return false
}

// direct follows a program that is run by its path.
func (r *reader) direct(st *state, c *Command, at place) {
	w := c.Words[0]
	byName := scriptName(w.Text) || windowsName(w.Text) // runners of packages take a script's name alone
	if at.inside != nil || len(r.files) == 0 && len(r.trees) == 0 && r.in.Files == nil {
		return
	}
	if strings.IndexByte(w.Text, '/') < 0 {
		if p, ok := r.inPath(st, c.Assigns, w.Text); ok {
			w.Text, w.Alts, byName = p, nil, false
		} else if !byName {
			return
		}
	}
	lang := shell
	if byName {
		lang = byExtension(w.Text)
	}
	for _, d := range st.dirs {
		f, ok := r.fileAt(Join(d, w.Text))
		if !ok || !f.known {
			continue
		}
		if f.lang != "" {
			lang = interpreter{name: f.lang}
		} else if line, _, _ := strings.Cut(f.text, "\n"); strings.HasPrefix(line, "#!") {
			lang = shebang(line)
		}
	}
	sub := st.clone()
	sub.funcs, sub.args, sub.argsOK, sub.name = nil, c.Words[1:], true, w.Text
	at.stdin = c.Stdin
	r.follow(sub, w, c, lang, at)
}

// windowsName tells whether a name ends as programs of Windows do, which are looked for in the working directory.
func windowsName(name string) bool {
	return slices.Contains([]string{".exe", ".bat", ".cmd"}, strings.ToLower(path.Ext(name)))
}

// byExtension is the interpreter that a script's name speaks for.
func byExtension(name string) interpreter {
	program := map[string]string{".py": "python", ".pl": "perl", ".rb": "ruby", ".js": "node", ".mjs": "node", ".ts": "node", ".php": "php"}[name[strings.LastIndexByte(name, '.'):]]
	if program == "" {
		return shell
	}
	lang := interpreters()[program]
	lang.name = program
	return lang
}

// shebang is the interpreter that a script's first line names.
func shebang(line string) interpreter {
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	for _, w := range words {
		name := programName(w[strings.LastIndexByte(w, '/')+1:])
		if name == "env" || strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		if lang, ok := interpreters()[name]; ok {
			if lang.name == "" {
				lang.name = name
			}
			return lang
		}
		return interpreter{name: name}
	}
	return shell
}
