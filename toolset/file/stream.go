package file

import (
	"bytes"
	"fmt"
	"io"
	"unsafe"

	"github.com/hermes-runtime/hermes/toolset/file/memory"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

const (
	pieceSize = 256 << 10
	// countAll is up to which size the lines behind a page are counted.
	countAll = 256 << 20
	// maxWide bounds files that are decoded as a whole.
	maxWide = 64 << 20
)

const eightBitWarning = "the file is in an old code page: bytes that are no UTF-8 are shown as \uFFFD. patch leaves them as they are outside of what it replaces; write_file would store UTF-8"

// pager makes one for a query.
func (s *source) pager(q pageQuery) *pager {
	p := &pager{first: q.offset, limit: q.limit, brk: lineBreak(s.head), line: 1}
	if q.script {
		p.joined = true
		if q.limit == 0 {
			p.room = int(min(s.info.Size, maxWide))
		}
	} else {
		p.maxChars, p.maxLine = s.config.ReadMaxChars, s.config.Output.MaxLineLength
	}
	return p
}

// lineBreak is what ends lines in a file: a bare return only where the beginning has no other break.
func lineBreak(head []byte) byte {
	if bytes.IndexByte(head, '\n') < 0 {
		if i := bytes.IndexByte(head, '\r'); i >= 0 && i < len(head)-1 {
			return '\r'
		}
	}
	return '\n'
}

// stream reads a page of a file in UTF-8 or an unknown code page, without holding the file.
func (s *source) stream(res *readResult, q pageQuery) (*readResult, error) {
	p := s.pager(q)
	stamp := memory.StampOf(s.info)
	p.index = s.book.Index(s.target.path, stamp)
	total, err := s.pump(p)
	if err != nil {
		return nil, err
	}
	stamp.Hash = total.hash
	s.fill(res, p, q, total.lines)
	s.remember(p, total, stamp)
	return res, nil
}

// pumped is what a pass over a file found.
type pumped struct {
	lines int    // of the file; 0 = not counted, see known
	known bool   // lines were counted
	hash  uint64 // of the content; 0 = not all of it was read
}

// pump feeds the pager from the last place that is known to lie before its page, up to the page's end, and on to the end of the file
// where its lines are to be counted.
func (s *source) pump(p *pager) (pumped, error) {
	known := p.index.Total()
	toEnd := known == 0 && s.info.Size <= countAll
	h := memory.NewHash()
	hashing := toEnd
	var src io.Reader = bytes.NewReader(s.head)
	if !s.whole {
		src = io.MultiReader(src, s.rest)
	}
	if line, at := p.index.Before(p.first); at > int64(len(s.head)) && !s.whole {
		r, err := s.fs.Read(s.ctx, s.target.path, at, -1)
		if err != nil {
			return pumped{}, err
		}
		defer r.Close()
		src, p.line, p.at, hashing = r, line, at, false
	}
	buf := make([]byte, int(min(pieceSize, max(s.info.Size+1, headSize))))
	begin := p.at == 0
	for !p.beyond || toEnd {
		n, err := src.Read(buf)
		b := buf[:n]
		if hashing {
			h.Write(b)
		}
		if begin && n > 0 {
			begin = false
			if text.Detect(b) == text.UTF8BOM {
				b = b[3:]
				p.at = 3
			}
		}
		p.feed(b)
		if err == io.EOF {
			out := pumped{lines: p.finish(), known: true}
			if hashing {
				out.hash = h.Sum64()
			}
			p.index.SetTotal(out.lines)
			return out, nil
		}
		if err != nil {
			return pumped{}, err
		}
	}
	return pumped{lines: known, known: known > 0}, nil
}

// fill puts a page into the result.
func (s *source) fill(res *readResult, p *pager, q pageQuery, total int) {
	var content string
	var undecodable bool
	if q.script {
		content, undecodable = marked(unsafe.String(unsafe.SliceData(p.text), len(p.text))) // nothing is added to it any more
	} else {
		content, undecodable = numbered(p.out, p.first, p.maxLine)
	}
	res.Content = &content
	if total > 0 || !p.beyond {
		res.TotalLines = &total
	}
	res.Truncated = p.beyond && p.line >= p.next()
	switch e := text.Detect(s.head); {
	case undecodable && e == text.UTF8:
		res.Encoding = string(text.EightBit)
		res.Warning = eightBitWarning
	case e != text.UTF8:
		res.Encoding = string(e)
	}
	s.advise(res, p, q, total)
}

func (s *source) advise(res *readResult, p *pager, q pageQuery, total int) {
	if q.script {
		return
	}
	switch {
	case res.Truncated:
		res.Hint = fmt.Sprintf("there are more lines: go on with offset=%d", p.next())
	case p.taken == 0 && p.first > 1:
		res.Hint = fmt.Sprintf("offset %d lies behind the end: the file has %d lines", p.first, total)
	}
	if len(p.out) == 1 && p.out[0].chars > p.maxChars && p.maxChars > 0 {
		res.Advice = fmt.Sprintf("line %d is longer than a result may be: search_files shows the part around a match, `cut -c` in the terminal any other", p.first)
	}
	if res.Truncated && q.wide && s.info.Size > largeFile {
		res.Advice = lines(res.Advice, fmt.Sprintf("the file is large (%d bytes): search it with search_files, or read fewer lines at a time", s.info.Size))
	}
}

// remember notes what the task has seen.
func (s *source) remember(p *pager, total pumped, stamp memory.Stamp) {
	seen := memory.Seen{Name: s.target.name, Dir: s.dir, First: p.first, Last: p.next() - 1}
	if total.known {
		seen.Total = total.lines
		seen.Whole = p.first == 1 && p.taken == total.lines
	}
	s.book.Read(s.target.path, stamp, seen)
}

// wide reads a page of a file in UTF-16, which is decoded as a whole.
func (s *source) wide(res *readResult, q pageQuery) (*readResult, error) {
	raw, err := s.all(maxWide)
	if err != nil {
		return nil, err
	}
	d := text.Parse(raw)
	stamp := stampOf(s.info, raw)
	p, total := s.page(d.Decoded(), q)
	s.fill(res, p, q, total.lines)
	s.remember(p, total, stamp)
	return res, nil
}

// page picks lines out of a text.
func (s *source) page(content string, q pageQuery) (*pager, pumped) {
	p := s.pager(q)
	p.brk = lineBreak([]byte(content[:min(len(content), headSize)]))
	p.feed([]byte(content))
	return p, pumped{lines: p.finish(), known: true}
}
