package payload

// bombs looks for loops without an end that do nothing but start processes, in all languages' forms: the statements' grammar differs,
// the tokens hardly do.
func (s *scan) bombs() {
	if s.flags.loops {
		return
	}
	for i := range s.toks {
		if end := s.endlessAt(i); end > 0 && s.startsOnly(end) {
			s.flags.loops = true
			s.acts = append(s.acts, Act{Kind: Bomb, Call: "a loop without end", Start: int(s.toks[i].start), End: len(s.text)})
			return
		}
	}
}

// endlessAt gives the index behind the head of an endless loop that begins at i, 0 for anything else.
func (s *scan) endlessAt(i int) int {
	if s.toks[i].kind != tokName {
		return 0
	}
	switch s.toks[i].text {
	case "while", "until":
		n := i + 1
		if s.isAt(n, "(") {
			n++
		}
		if n < len(s.toks) && endless[s.toks[n].text] {
			return n + 1
		}
	case "for":
		if s.isAt(i+1, "(") && s.isAt(i+2, ";") && s.isAt(i+3, ";") {
			return i + 4
		}
	case "setInterval", "setImmediate":
		for k := i; k < len(s.toks) && k < i+bodyOfBomb; k++ {
			if s.toks[k].text == "__filename" || s.toks[k].text == "execPath" { // the program starts itself again and again
				return i + 2
			}
		}
	case "loop":
		if s.isAt(i+1, "{") || s.isAt(i+1, "do") {
			return i + 2
		}
	}
	return 0
}

// spawners start a process and don't wait for it.
var spawners = words("fork spawn Popen pcntl_fork popen posix_spawn startfile")

// bodyOfBomb is how many tokens of a loop's body are looked at.
const bodyOfBomb = 32

// startsOnly tells whether what follows starts a process, and nothing in it waits, asks or ends.
func (s *scan) startsOnly(from int) bool {
	starts, runs := false, false
	for i := from; i < len(s.toks) && i < from+bodyOfBomb; i++ {
		t := &s.toks[i]
		if t.kind != tokName && t.kind != tokString {
			starts = starts || runs && t.text == "&" // Tcl's exec PROGRAM &
			continue
		}
		if t.kind == tokString { // a shell's text that goes on by itself
			starts = starts || len(t.text) > 1 && t.text[len(t.text)-1] == '&'
			continue
		}
		runs = runs || t.text == "exec"
		switch name := t.text; {
		case pauses[name]:
			return false
		case spawners[name], len(name) > 6 && (spawners[name[len(name)-5:]] || spawners[name[len(name)-4:]]):
			starts = true
		}
	}
	return starts
}

// respawns tells whether a function's body, which ends at end, starts itself again beside itself, with nothing that ends it.
func (s *scan) respawns(name string, end int) {
	starts, itself := false, false
	for i := s.i; i < min(end, s.i+bodyOfBomb) && name != "" && !s.flags.loops; i++ {
		switch t := &s.toks[i]; {
		case t.kind != tokName:
		case pauses[t.text]:
			return
		case spawners[t.text], t.text == "Process" && s.isAt(i+1, "("):
			starts = true
		case t.text == name:
			itself = true
		}
	}
	if starts && itself {
		s.flags.loops = true
		s.acts = append(s.acts, Act{Kind: Bomb, Call: name, Start: int(s.toks[min(s.i, len(s.toks)-1)].start), End: len(s.text)})
	}
}

// pauses are what a loop that does its work holds.
var pauses = words("if unless wait waitpid sleep usleep setTimeout accept recv read readline input gets get communicate poll join run call check_output exit break next " +
	"continue last select await connect listen sleep_ms delay yield return")
