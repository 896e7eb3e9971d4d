package payload

// senders are calls that give what stands in their arguments to the network.
var senders = words("post put patch request urlopen fetch send sendall sendto axios post_form Request urlencode write_body upload end")

// environments are names that hold all variables; with a member or an index behind them they are one variable.
var environments = words("environ env ENV %ENV $_ENV $_SERVER")

// leaks looks for a call that sends the whole environment.
func (s *scan) leaks() {
	for i := range max(0, len(s.toks)-1) {
		t := &s.toks[i]
		if t.kind != tokName || !senders[t.text] || !s.isAt(i+1, "(") && (!s.parenless || t.text == "end") {
			continue
		}
		end := s.close(i+1, min(len(s.toks), i+1+bodyOfBomb*2))
		for k := i + 1; k < end; k++ {
			if s.wholeEnvironment(k) {
				s.acts = append(s.acts, Act{Kind: Exec, Call: t.text, Args: []Text{{"curl"}, {"--data-binary"}, {"@/proc/self/environ"}, {Unknown}},
					Start: int(t.start), End: int(s.toks[min(end, len(s.toks)-1)].end)})
				return
			}
		}
	}
}

// wholeEnvironment tells whether all variables are named at k: os.environ, process.env, ENV, %ENV.
func (s *scan) wholeEnvironment(k int) bool {
	t := &s.toks[k]
	if t.kind != tokName || !environments[t.text] || s.isAt(k+1, "[") || s.isAt(k+1, "{") {
		return false
	}
	if t.text == "env" && (k < 2 || s.toks[k-2].text != "process") {
		return false
	}
	if !s.isAt(k+1, ".") {
		return true
	}
	return k+2 < len(s.toks) && dumps[s.toks[k+2].text]
}

// dumps are members that give all variables.
var dumps = words("items copy values to_h to_a inspect to_s map collect to_json")
