package preview

import (
	"fmt"
	"strings"
	"unicode"
)

// Text writes it down in a few lines, for a person and for a reviewer. Names in it can't make lines of their own.
func (p Preview) Text() string {
	var b strings.Builder
	for i := range p.Losses {
		p.Losses[i].text(&b)
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "and %s not looked at\n", count(p.More, "more target"))
	}
	for i := range p.Repositories {
		p.Repositories[i].text(&b)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (l *Loss) text(b *strings.Builder) {
	name := nameOf(l.Path)
	switch {
	case l.Some:
		name = "some of what is in " + name
	case l.All:
		name = "in " + name
	}
	if l.Class != "" {
		name += " (" + l.Class + ")"
	}
	switch {
	case l.Missing:
		fmt.Fprintf(b, "%s: nothing is there\n", name)
		return
	case l.Link != "":
		fmt.Fprintf(b, "%s: a link to %s; only the link goes\n", name, nameOf(l.Link))
		return
	}
	least := ""
	if l.AtLeast {
		least = "at least "
	}
	fmt.Fprintf(b, "%s: %s%s", name, least, count(l.Files, "file"))
	if l.Dirs > 0 {
		b.WriteString(", " + count(l.Dirs, "directory"))
	}
	b.WriteString(", " + size(l.Bytes))
	if !l.Newest.IsZero() {
		b.WriteString(", last changed " + l.Newest.Local().Format("2006-01-02 15:04"))
	}
	b.WriteString("\n")
	if l.Outward > 0 {
		fmt.Fprintf(b, "  %s out of it, what is behind them stays: %s\n", count(l.Outward, "link leads", "links lead"), names(l.LinksOut, l.Outward))
	}
	if l.Err != nil {
		b.WriteString("  not everything could be read\n")
	}
}

func (r *Repository) text(b *strings.Builder) {
	what := "In the git work tree " + nameOf(r.Root) + ","
	if r.Whole {
		what = "The git repository " + nameOf(r.Root) + ","
	}
	found := false
	for _, l := range []struct {
		*List
		kind string
	}{{&r.Changed, "changed"}, {&r.New, "untracked"}, {&r.Ignored, "ignored"}} {
		if l.Count == 0 {
			continue
		}
		least := ""
		if l.AtLeast {
			least = "at least "
		}
		fmt.Fprintf(b, "%s not in its history: %s%d %s: %s\n", what, least, l.Count, l.kind, names(l.Names, l.Count))
		found = true
	}
	if r.Unpushed > 0 {
		fmt.Fprintf(b, "%s on no remote: %s\n", what, count(r.Unpushed, "commit"))
		found = true
	}
	switch {
	case r.Unknown:
		fmt.Fprintf(b, "%s there may be more: git did not tell, or not in time\n", what)
	case !found:
		fmt.Fprintf(b, "%s everything is in its history\n", what)
	}
}

// names lists the first few of many.
func names(list []string, all int) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = nameOf(n)
	}
	text := strings.Join(out, ", ")
	if all > len(list) {
		text += fmt.Sprintf(" and %d more", all-len(list))
	}
	return text
}

// maxName is how much of one name is shown, in characters.
const maxName = 120

// nameOf shows a name that may hold anything.
func nameOf(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) && r != ' ' {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	if r := []rune(b.String()); len(r) > maxName {
		return string(r[:maxName/2]) + "…" + string(r[len(r)-maxName/2:])
	}
	return b.String()
}

// count writes a number with its noun, in the form that goes with it; the second form is given where it isn't the usual one.
func count(n int, noun ...string) string {
	if n == 1 {
		return "1 " + noun[0]
	}
	many := noun[0] + "s"
	switch {
	case len(noun) > 1:
		many = noun[1]
	case strings.HasSuffix(noun[0], "y"):
		many = strings.TrimSuffix(noun[0], "y") + "ies"
	}
	return fmt.Sprintf("%d %s", n, many)
}

func size(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	f, u := float64(n), 0
	for ; f >= 1000 && u < len(units)-1; u++ {
		f /= 1000
	}
	if u == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
