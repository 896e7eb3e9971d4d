package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/tool"
)

// statusOK is the status of a call that ended well.
const statusOK = string(tool.StatusOK)

// call is one call that runs.
type call struct {
	id       string
	head     string // emoji and name
	argument string
	began    time.Time
	progress string
}

// mostArgument is how many characters of an argument a line shows.
const mostArgument = 80

// telling are the members of arguments that say best what a call is about, in order.
var telling = []string{"command", "code", "pattern", "query", "question", "goal", "path", "url", "urls", "action", "name"}

// argument is what of a call's arguments tells what it is about, on one line: one of the telling ones, else the longest text, else how
// much of something there is, else all.
func argument(args json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil || len(members) == 0 {
		return ""
	}
	text := string(args)
	if name := tellingOf(members); name != "" {
		text = told(name, members[name])
	}
	text = strings.ReplaceAll(ansi.Visible(strings.TrimSpace(text)), "\n", `\n`)
	if r := []rune(text); len(r) > mostArgument {
		text = string(r[:mostArgument-1]) + "…"
	}
	return text
}

// told is a text as it is, texts side by side, and of anything else how much there is.
func told(name string, value json.RawMessage) string {
	var text string
	var texts []string
	var list []json.RawMessage
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &texts) == nil:
		return strings.Join(texts, " ")
	}
	_ = json.Unmarshal(value, &list)
	return fmt.Sprintf("%d %s", len(list), name)
}

// tellingOf names the member that tells most, "" if none tells anything.
func tellingOf(members map[string]json.RawMessage) (best string) {
	for _, name := range telling {
		if v := members[name]; len(v) > 0 && (v[0] == '"' || v[0] == '[') {
			return name
		}
	}
	for _, first := range []byte{'"', '['} {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if v := members[name]; v[0] == first && len(v) > len(members[best]) {
				best = name
			}
		}
		if best != "" {
			break
		}
	}
	return best
}

func (s *Screen) head(tool string) string { return headOf(s.o.Emoji(tool), tool) }

func headOf(emoji, tool string) string {
	return strings.TrimSpace(emoji + " " + fit(strings.ReplaceAll(ansi.Visible(tool), "\n", `\n`), mostArgument))
}

func (s *Screen) begin(e agent.Event) {
	c := &call{id: e.Call, head: s.head(e.Tool), argument: argument(e.Args), began: time.Now()}
	s.calls = append(s.calls, c)
	s.waiting = time.Time{}
	if s.still {
		s.line(strings.TrimSpace(c.head+" "+c.argument) + " …")
		return
	}
	s.redraw()
}

func (s *Screen) progress(e agent.Event) {
	for _, c := range s.calls {
		if c.id == e.Call {
			c.progress = progressOf(e)
			s.redraw()
			return
		}
	}
}

func progressOf(e agent.Event) string {
	text := strings.ReplaceAll(ansi.Visible(ansi.Strip(e.Text)), "\n", " ")
	switch {
	case e.Total > 0:
		text = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", 100*e.Done/e.Total, text))
	case text == "" && e.Done > 0:
		text = fmt.Sprintf("%g", e.Done)
	}
	return text
}

// ended leaves a line that says how a call ended, and why it did not end well.
func (s *Screen) ended(e agent.Event) {
	c := &call{id: e.Call, head: s.head(e.Tool), argument: argument(e.Args)} // one that was refused before it began
	if i := slices.IndexFunc(s.calls, func(c *call) bool { return c.id == e.Call }); i >= 0 {
		c = s.calls[i]
		s.calls = slices.Delete(s.calls, i, i+1)
	}
	if len(s.calls) == 0 {
		s.waiting = time.Now()
	}
	cols, _ := s.o.Size()
	s.line(c.ended(e, cols, s.paint))
}

// ended is a line of so many columns at most.
func (c *call) ended(e agent.Event, cols int, paint func(style, string) string) string {
	mark, why := paint(green, "✓"), ""
	if e.Status != statusOK {
		mark, why = paint(red, "✗"), failure(e)
	}
	tail := " " + seconds(time.Duration(e.Seconds*float64(time.Second)))
	room := cols - 3 - columns(c.head) - columns(tail)
	text := c.head + paint(dim, within(" ", c.argument, room)) + " " + mark + tail
	if room -= columns(c.argument) + 1; why != "" {
		text += within(" ", why, max(room, cols/3))
	}
	return text
}

// Ended says on a line of so many columns how a call ended: the tool with its emoji, what it was about, and why it did not end well.
// args are the arguments that it began with.
func Ended(emoji string, args json.RawMessage, e agent.Event, cols int) string {
	c := &call{head: headOf(emoji, e.Tool), argument: argument(args)}
	return c.ended(e, cols, func(_ style, text string) string { return text })
}

// failure is what a result says of what went wrong, on one line; its status where it says nothing.
func failure(e agent.Event) string {
	var r struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(e.Result), &r) != nil || r.Error == "" {
		return e.Status
	}
	first, _, _ := strings.Cut(strings.TrimSpace(ansi.Strip(r.Error)), "\n")
	return e.Status + ": " + ansi.Visible(first)
}

// within is a text with something before it, cut to a number of columns; "" if there is no room or no text.
func within(before, text string, most int) string {
	if text == "" || most < columns(before)+2 {
		return ""
	}
	return before + fit(text, most-columns(before))
}

// seconds is a duration as people read it.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

// running are the lines of the calls that run, at most so wide and so many.
func (s *Screen) running(cols, most int) (lines []string) {
	for i, c := range s.calls {
		if i == most-1 && len(s.calls) > most {
			return append(lines, s.paint(dim, fmt.Sprintf("… and %d more", len(s.calls)-i)))
		}
		tail := ""
		if d := time.Since(c.began); d >= time.Second {
			tail = " " + seconds(d.Truncate(time.Second))
		}
		room := cols - columns(c.head) - columns(tail)
		argument := within(" ", c.argument, room)
		lines = append(lines, c.head+s.paint(dim, argument)+tail+s.paint(dim, within(" ", c.progress, room-columns(argument))))
	}
	if d := time.Since(s.waiting); len(lines) == 0 && !s.waiting.IsZero() && d >= time.Second {
		lines = append(lines, s.paint(dim, "… "+seconds(d.Truncate(time.Second))))
	}
	return lines
}

// style is how text is set apart where there is colour.
type style string

const (
	bold  style = "\x1b[1m"
	dim   style = "\x1b[2m"
	red   style = "\x1b[31m"
	green style = "\x1b[32m"
)

func (s *Screen) paint(st style, text string) string {
	if !s.o.Color || text == "" {
		return text
	}
	return string(st) + text + "\x1b[0m"
}
