package analysis

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// filed notes what a command leaves in files: by redirect, tee, download, copy and move.
func (r *reader) filed(st *state, c *Command, out output) {
	for _, red := range c.Redirects {
		if !red.Write || strings.HasPrefix(red.Op, "2") || red.Op == ">&" && isDescriptor(red.Target.Text) {
			continue
		}
		f := r.product(c, out)
		if red.Op == ">>" {
			if old, ok := r.fileAt(Join(st.dirs[0], red.Target.Text)); ok && f.origin == FileWritten {
				f = file{origin: old.origin, text: old.text + f.text, known: old.known && f.known && len(old.text)+len(f.text) <= MaxFile}
			} else if f.origin == FileWritten { // adds to a person's own file
				f.known = false
				if out.known {
					continue
				}
			}
		}
		r.remember(st, c, red.Target, f)
	}
	r.leaves(st, c)
}

// product is what a command's output makes of a file.
func (r *reader) product(c *Command, out output) file {
	if fetches(c) || r.flowFetches(c.Stdin.From) || r.readsDownload(c) {
		return file{origin: FileDownloaded}
	}
	return file{origin: FileWritten, text: out.text, known: out.known && len(out.text) <= MaxFile}
}

func (r *reader) flowFetches(f Flow) bool {
	for i := f.Start; i < min(f.End, len(r.out.Commands)); i++ {
		if fetches(&r.out.Commands[i]) {
			return true
		}
	}
	return false
}

// readsDownload tells whether a command names a file that the text downloaded.
func (r *reader) readsDownload(c *Command) bool {
	if len(r.files) == 0 {
		return false
	}
	words := c.Words[min(1, len(c.Words)):]
	if c.Stdin.Kind == StdinFile {
		words = append(slices.Clone(words), c.Stdin.File)
	}
	return slices.ContainsFunc(words, func(w Word) bool {
		f, ok := r.files[Join(c.Dirs[0], w.Text)]
		return ok && f.origin == FileDownloaded
	})
}

// leaves notes the files that programs make by their operands and options.
func (r *reader) leaves(st *state, c *Command) {
	if len(r.files) > 0 || c.Stdin.Text != "" {
		r.compiled(st, c)
	}
	switch c.Program {
	case "tar", "bsdtar", "gtar", "unzip", "7z":
		r.unpacks(st, c)
	case "git", "hg", "svn":
		r.clones(st, c)
	case "mkfifo":
		for _, w := range c.Args(Grammar{Short: "m"}).Operands {
			r.remember(st, c, w, file{origin: FileWritten})
		}
	case "tee":
		f := file{origin: FileWritten, text: c.Stdin.Text, known: c.Stdin.Known}
		if r.flowFetches(c.Stdin.From) {
			f = file{origin: FileDownloaded}
		}
		args := c.Args(Grammar{})
		f.known = f.known && !args.Has("a")
		for _, w := range args.Operands {
			r.remember(st, c, w, f)
		}
	case "curl", "wget", "wget2", "aria2c", "axel", "fetch", "xh", "http", "https":
		for _, w := range downloads(c) {
			r.remember(st, c, w, file{origin: FileDownloaded})
		}
	case "certutil", "bitsadmin":
		if n := len(c.Words); n > 3 && slices.ContainsFunc(c.Words, func(w Word) bool {
			return slices.Contains([]string{"-urlcache", "/urlcache", "/transfer", "//transfer"}, strings.ToLower(w.Text))
		}) {
			r.remember(st, c, c.Words[n-1], file{origin: FileDownloaded})
		}
	case "scp", "gsutil", "aws", "rclone", "s3cmd", "mc", "rsync":
		r.copiedFrom(st, c)
	case "cp", "mv", "install", "ln", "gcp", "gmv":
		args := c.Args(Grammar{Short: "tSmog", Long: []string{"target-directory", "suffix", "mode", "owner", "group"}})
		if len(args.Operands) != 2 {
			return
		}
		from, to := args.Operands[0], args.Operands[1]
		if name := r.rename(st, from, to); name != "" { // for later texts, which don't see this one
			r.remember(st, c, to, file{origin: FileWritten, program: name})
		}
		if c.Program == "ln" && args.Has("s") && Literal(from.Text) && Literal(to.Text) && c.Inside == nil {
			r.out.link(Join(st.dirs[0], to.Text), from.Text, c.index)
		}
		f, ok := r.fileAt(Join(st.dirs[0], from.Text))
		if !ok {
			return
		}
		r.remember(st, c, to, f)
		if base := from.Text[strings.LastIndexByte(from.Text, '/')+1:]; base != "" { // it may be a directory
			r.remember(st, c, Word{Text: to.Text + "/" + base}, f)
		}
	case "hash":
		args := c.Args(Grammar{Short: "p"})
		if from := args.Values["p"]; len(from) > 0 && len(args.Operands) == 1 {
			r.rename(st, from[0], Word{Text: "/hashed"})
			if name, ok := r.renamed["/hashed"]; ok {
				r.renamed[args.Operands[0].Text] = name
			}
		}
	case "gunzip", "unxz", "bunzip2", "gzip", "xz", "zstd", "unzstd":
		for _, w := range c.Args(Grammar{}).Operands {
			if i := strings.LastIndexByte(w.Text, '.'); i > 0 {
				if f, ok := r.fileAt(Join(st.dirs[0], w.Text)); ok && f.origin == FileDownloaded {
					r.remember(st, c, Word{Text: w.Text[:i]}, f)
				}
			}
		}
	case "sed", "perl", "ruby", "patch", "ed", "ex", "sponge", "dos2unix":
		for _, w := range c.Words[1:] { // what it edits in place is what it was, but no longer known
			if f, ok := r.files[Join(st.dirs[0], w.Text)]; ok && f.origin == FileWritten && (c.Program != "sed" || c.Args(Grammar{Short: "efl"}).Has("i")) {
				f.known = false
				r.remember(st, c, w, f)
			}
		}
	}
}

// unpacks notes the directories that an archive from the network brings: those below where it is unpacked that the text then names.
func (r *reader) unpacks(st *state, c *Command) {
	if !r.flowFetches(c.Stdin.From) && !r.readsDownload(c) || st.dirs[0] == "" {
		return
	}
	args := c.Args(Grammar{Short: "CfdI", Long: []string{"directory", "file"}})
	for _, w := range slices.Concat(args.Values["C"], args.Values["directory"], args.Values["d"]) {
		r.tree(Join(st.dirs[0], w.Text))
		return
	}
	for _, s := range r.script.stmts { // ./NAME/…
		r.each(s, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok {
				lit := strings.TrimPrefix(w.Lit(), "./")
				if dir, rest, ok := strings.Cut(lit, "/"); ok && dir != "" && dir != ".." && rest != "" && !strings.Contains(lit, ":") {
					r.tree(Join(st.dirs[0], dir))
				}
			}
			return len(r.trees) < MaxValues
		})
	}
}

// clones notes the directory of a repository from elsewhere.
func (r *reader) clones(st *state, c *Command) {
	args := c.Args(Grammar{Short: "bcjo", Long: []string{"branch", "depth", "config", "origin", "jobs"}})
	if len(args.Operands) < 2 || !oneOf(args.Operands[0], "clone", "checkout") || c.Program == "git" && !args.Operands[0].Is("clone") {
		return
	}
	from, to := args.Operands[1].Text, ""
	if !strings.Contains(from, ":") {
		return
	}
	if len(args.Operands) > 2 {
		to = args.Operands[2].Text
	} else {
		to = strings.TrimSuffix(from[strings.LastIndexAny(from, "/:")+1:], ".git")
	}
	r.tree(Join(st.dirs[0], to))
}

func (r *reader) tree(dir string) {
	if Literal(dir) && strings.HasPrefix(dir, "/") && dir != r.in.Dir && dir != "/" && len(r.trees) < MaxValues {
		r.trees = append(r.trees, dir)
	}
}

// rename notes that a program stands under another name.
func (r *reader) rename(st *state, from, to Word) (program string) {
	name := programName(from.Text[strings.LastIndexByte(from.Text, '/')+1:])
	if !strings.Contains(from.Text, "bin/") && from.From.Empty() || !r.known(name) || !Literal(to.Text) || to.Text == "" || len(r.renamed) >= maxFollowed {
		return ""
	}
	if r.renamed == nil {
		r.renamed = map[string]string{}
	}
	r.renamed[Join(st.dirs[0], to.Text)] = name
	return name
}

// downloads lists the files that a downloader writes: the value of its output option, or the last part of an address.
func downloads(c *Command) []Word {
	g := Grammar{Short: "AbcCdDeEFhHKmoPQrtTuUwxXyYz", Long: []string{"output", "header", "data", "user-agent", "user", "request", "output-dir", "out", "dir", "download", "referer"}}
	remoteName := false
	if c.Program == "wget" || c.Program == "wget2" {
		g = Grammar{Short: "oaetOTwQPUlADRXIBi", Long: []string{"output-document", "output-file", "directory-prefix", "header", "user-agent"}}
		remoteName = true
	}
	args := c.Args(g)
	dir := ""
	for _, w := range slices.Concat(args.Values["P"], args.Values["directory-prefix"], args.Values["output-dir"], args.Values["dir"]) {
		if c.Program != "curl" || w.Text != "" && args.Values["output-dir"] != nil {
			dir = w.Text + "/"
		}
	}
	var out []Word
	for _, name := range [...]string{"o", "O", "output", "output-document", "out"} {
		for _, w := range args.Values[name] {
			if name == "o" && remoteName || w.Is("-") {
				remoteName = remoteName && !w.Is("-")
				continue
			}
			w.Text = dir + w.Text
			out = append(out, w)
			remoteName = false
		}
	}
	remoteName = remoteName || c.Program == "curl" && (args.Has("OJ") || slices.Contains(args.Names, "remote-name") || slices.Contains(args.Names, "remote-name-all")) ||
		c.Program == "aria2c" || c.Program == "axel"
	if remoteName && len(out) == 0 {
		for _, w := range args.Operands {
			text, _, _ := strings.Cut(w.Text, "?")
			if base := text[strings.LastIndexByte(text, '/')+1:]; base != "" {
				out = append(out, Word{Text: dir + base, Span: w.Span})
			}
		}
	}
	return out
}

// copiedFrom notes files that are copied from another machine or a store.
func (r *reader) copiedFrom(st *state, c *Command) {
	args := c.Args(Grammar{Short: "cFiJloPSXDefBT"})
	ops := args.Operands
	if len(ops) < 2 {
		return
	}
	from, to := ops[len(ops)-2].Text, ops[len(ops)-1]
	i := strings.IndexByte(from, ':')
	if i <= 0 || strings.IndexByte(from[:i], '/') >= 0 {
		return
	}
	f := file{origin: FileDownloaded}
	r.remember(st, c, to, f)
	if base := from[strings.LastIndexAny(from, "/:")+1:]; base != "" {
		r.remember(st, c, Word{Text: to.Text + "/" + base}, f)
	}
}
