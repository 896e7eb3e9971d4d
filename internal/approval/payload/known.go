package payload

import (
	"slices"
	"strconv"
	"strings"
)

// environment reads a variable of the environment by its name.
func (s *scan) environment(sym, key string) (value, bool) {
	if !slices.Contains(s.envs, sym) {
		return value{}, false
	}
	return s.env(key), true
}

func (s *scan) env(key string) value {
	if key == "HOME" || key == "USERPROFILE" {
		return value{texts: []string{s.home()}}
	}
	if s.in.Env != nil && key != "" {
		if t, ok := s.in.Env(key); ok && len(t) > 0 {
			return value{texts: t}
		}
	}
	return value{}
}

func (s *scan) home() string {
	if s.in.Home == "" {
		return "/home/\x00c"
	}
	return s.in.Home
}

// attributes gives what a dotted name stands for.
func (s *scan) attributes(full string) (value, bool) {
	if f, ok := s.attrs[full]; ok {
		return f(s), true
	}
	if i := strings.LastIndexByte(full, '.'); i > 0 {
		if v, ok := s.environment(full[:i], full[i+1:]); ok {
			return v, true
		}
	}
	return value{}, false
}

// programArgs are the program's arguments; first is what stands in front of them.
func programArgs(first ...string) func(*scan) value {
	return func(s *scan) value {
		v := listOf()
		for _, f := range first {
			v.list = append(v.list, text(f))
		}
		for _, a := range s.in.Args {
			v.list = append(v.list, value{texts: a})
		}
		if len(s.in.Args) == 0 {
			v.list = append(v.list, value{})
		}
		return v
	}
}

// property is a member that isn't called.
func (s *scan) property(v value) value {
	r := *v.recv
	switch v.sym {
	case "parent":
		return s.each(r, func(t string) (string, bool) {
			i := strings.LastIndexByte(strings.TrimRight(t, "/"), '/')
			if i <= 0 {
				return "/", i == 0
			}
			return t[:i], true
		})
	case "name", "path", "value", "absolute":
		if v.sym == "name" && len(r.texts) > 0 && !r.made {
			break
		}
		return value{texts: r.texts, net: r.net, made: r.made}
	}
	return value{sym: v.sym, recv: v.recv, net: r.net, file: r.file, made: r.made}
}

// tags tells whether a template behind v is its argument.
func (s *scan) tags(v value, t token) bool {
	if s.tagged == nil {
		return false
	}
	name := v.sym
	if v.recv != nil {
		name = "#" + v.sym
	}
	return s.tagged[name] || s.tagged["*"] && s.known(v)
}

func reverse(t string) (string, bool) {
	if strings.IndexByte(t, 0) >= 0 {
		return "", false
	}
	r := []rune(t)
	slices.Reverse(r)
	return string(r), true
}

// slice reads v[a:b] with literal ends.
func (s *scan) slice(v value, from, stop int) value {
	low, high, part := 0, -1, 0
	for i := from; i < stop; i++ {
		if s.isAt(i, ":") {
			part++
			continue
		}
		n, err := strconv.Atoi(s.toks[i].text)
		if err != nil || part > 1 {
			return value{net: v.net}
		}
		if part == 0 {
			low = n
		} else {
			high = n
		}
	}
	if v.isList && v.keys == nil {
		if high < 0 || high > len(v.list) {
			high = len(v.list)
		}
		if low > high {
			return value{net: v.net}
		}
		return listOf(v.list[low:high]...)
	}
	return s.each(v, func(t string) (string, bool) {
		end := high
		if end < 0 || end > len(t) {
			end = len(t)
		}
		if strings.IndexByte(t, 0) >= 0 || low > end {
			return "", false
		}
		return t[low:end], true
	})
}

// repeat is a text times a number.
func (s *scan) repeat(v, n value) value {
	if v.num {
		v, n = n, v
	}
	count, ok := n.exact()
	k, err := strconv.Atoi(count)
	if !ok || err != nil || !v.isText() || v.num || k < 0 || k > 4096 {
		return value{net: v.net}
	}
	return s.each(v, func(t string) (string, bool) {
		if len(t)*k > maxDecoded {
			return "", false
		}
		return strings.Repeat(t, k), true
	})
}

// format is Python's and Ruby's text % values.
func (s *scan) format(v, args value) value {
	if v.class != "" || !v.isText() || v.num {
		return value{net: v.net || args.net}
	}
	list := args.list
	if !args.isList {
		list = []value{args}
	}
	return s.fill(v, list, args)
}

// fill puts values in for %s and its kin.
func (s *scan) fill(v value, list []value, named value) value {
	out := value{texts: []string{""}, net: named.net}
	t := v.text()[0]
	for len(t) > 0 {
		i := strings.IndexByte(t, '%')
		if i < 0 || i+1 >= len(t) {
			out = s.plus(out, text(t))
			break
		}
		out = s.plus(out, text(t[:i]))
		t = t[i+1:]
		if t[0] == '%' {
			out, t = s.plus(out, text("%")), t[1:]
			continue
		}
		key := ""
		if t[0] == '(' {
			if end := strings.IndexByte(t, ')'); end > 0 {
				key, t = t[1:end], t[end+1:]
			}
		}
		t = strings.TrimLeft(t, "0123456789.-+# ")
		if t == "" {
			break
		}
		arg := value{}
		if key != "" {
			arg, _ = named.get(key)
		} else if len(list) > 0 {
			arg, list = list[0], list[1:]
		}
		n, ok := arg.exact()
		switch code, err := strconv.Atoi(n); {
		case t[0] == 'c' && ok && err == nil && arg.num:
			arg = text(string(rune(code)))
		case t[0] != 's' && t[0] != 'r' && t[0] != 'd' && t[0] != 'i' && t[0] != 'c':
			arg = value{}
		}
		arg.texts = arg.text()
		out, t = s.plus(out, arg), t[1:]
	}
	return out
}

// braceFormat is Python's "…{}…".format(…).
func (s *scan) braceFormat(v value, c *call) value {
	if !v.isText() {
		return value{}
	}
	out := text("")
	t, next := v.text()[0], 0
	for {
		i := strings.IndexAny(t, "{}")
		if i < 0 || i+1 >= len(t) {
			return s.plus(out, text(t))
		}
		out = s.plus(out, text(t[:i]))
		if t[i+1] == t[i] {
			out, t = s.plus(out, text(t[i:i+1])), t[i+2:]
			continue
		}
		end := strings.IndexByte(t[i:], '}')
		if t[i] == '}' || end < 0 {
			return s.plus(out, value{texts: []string{Unknown}})
		}
		name, _, _ := strings.Cut(t[i+1:i+end], ":")
		name, _, _ = strings.Cut(name, "!")
		arg, found := c.named.get(name)
		if n, err := strconv.Atoi(name); !found && (name == "" || err == nil) {
			if name == "" {
				n = next
				next++
			}
			arg = c.arg(n)
		}
		arg.texts = arg.text()
		out, t = s.plus(out, arg), t[i+end+1:]
	}
}
