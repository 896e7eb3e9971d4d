package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hermes-runtime/hermes/environment"
)

// argumentBytes bounds the names handed to one run; systems take 128 KiB and more.
const argumentBytes = 96 << 10

// extract runs ripgrep on the files of the page.
func (r *ripgrep) extract(ctx context.Context, j *job, pages []filePage) ([]environment.Match, error) {
	var all []environment.Match
	for len(pages) > 0 {
		size, n, most := 0, 0, 0
		for n < len(pages) && (n == 0 || size+len(pages[n].rel) < argumentBytes) {
			size += len(pages[n].rel) + 16
			most = max(most, pages[n].to)
			n++
		}
		found, err := r.show(ctx, j, pages[:n], most)
		for _, p := range pages[:n] {
			if g := found[p.rel]; g != nil {
				all = append(all, g.matches...)
			}
		}
		if err != nil {
			return all, err
		}
		pages = pages[n:]
	}
	return all, nil
}

// show gives the wanted lines of some files, at most the first most matching ones of each being looked at.
func (r *ripgrep) show(ctx context.Context, j *job, pages []filePage, most int) (map[string]*gatherer, error) {
	// One match more, as the context of the last one ends where the next begins.
	args := append(common(j), "--json", "--max-count="+strconv.Itoa(most+1), "--context="+strconv.Itoa(j.Context), "--")
	found := make(map[string]*gatherer, len(pages))
	for _, p := range pages {
		args = append(args, "."+string(os.PathSeparator)+p.rel)
		found[p.rel] = &gatherer{job: j, page: p}
	}
	_, err := r.run(ctx, j, args, func(out *bufio.Reader) error { return readEvents(out, found) })
	if err != nil {
		return nil, err // what was gathered may still be written to
	}
	return found, nil
}

// event is one line of ripgrep's structured output.
type event struct {
	Type string `json:"type"`
	Data struct {
		Path       jsonText `json:"path"`
		Lines      jsonText `json:"lines"`
		Number     int      `json:"line_number"`
		Submatches []struct {
			Start int `json:"start"`
		} `json:"submatches"`
	} `json:"data"`
}

// jsonText is text, or bytes in base64 where they aren't UTF-8.
type jsonText struct {
	Text  *string `json:"text"`
	Bytes string  `json:"bytes"`
}

func (t jsonText) bytes() []byte {
	if t.Text != nil {
		return []byte(*t.Text)
	}
	b, _ := base64.StdEncoding.DecodeString(t.Bytes)
	return b
}

// readEvents feeds the events of files, each of which come in one row, to their gatherers.
func readEvents(out *bufio.Reader, found map[string]*gatherer) error {
	var g *gatherer
	for {
		line, err := readLong(out)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		begins := bytes.HasPrefix(line, []byte(`{"type":"begin"`))
		if !begins && (g == nil || g.full()) {
			continue // not decoded: nobody wants it
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		switch e.Type {
		case "begin":
			g = found[filepath.Clean(string(e.Data.Path.bytes()))]
		case "match":
			line := e.Data.Lines.bytes()
			start := len(line) // an empty match at the end of a last line without break is not listed
			if len(e.Data.Submatches) > 0 {
				start = e.Data.Submatches[0].Start
			}
			g.match(e.Data.Number, line, start)
		case "context":
			g.context(e.Data.Number, e.Data.Lines.bytes())
		}
	}
}

// maxEvent bounds one line of structured output: a line of 64 MiB, each byte escaped.
const maxEvent = 6 * 64 << 20

func readLong(out *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := out.ReadSlice('\n')
		if err == nil && all == nil {
			return part, nil
		}
		all = append(all, part...)
		switch {
		case err == nil:
			return all, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(all) > 0 {
				return all, nil
			}
			return nil, err
		case len(all) > maxEvent:
			return nil, errLongLine
		}
	}
}
