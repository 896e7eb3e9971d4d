package file

import (
	"encoding/json"
	"errors"
	"strings"
)

// maxDocument bounds a document, unpacked.
const maxDocument = 50 << 20

// documents are binary forms whose text can be had: by type, what reads them. It fails where the file is broken.
var documents = map[string]func(raw []byte) (string, error){}

// document shows the text of a document; false = it is broken, and counts as binary.
func (s *source) document(res *readResult, q pageQuery, read func([]byte) (string, error)) (bool, error) {
	if s.info.Size > maxDocument {
		return false, nil
	}
	raw, err := s.all(maxDocument)
	if err != nil {
		return false, err
	}
	content, err := read(raw)
	if err != nil {
		return false, nil
	}
	stamp := stampOf(s.info, raw)
	p, total := s.page(content, q)
	s.fill(res, p, q, total.lines)
	s.remember(p, total, stamp)
	res.Extracted = true
	return true, nil
}

func isNotebook(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".ipynb") }

// notebook shows the cells of a notebook; one that can't be read is shown as the text that it is.
func (s *source) notebook(res *readResult, q pageQuery) (bool, error) {
	return s.document(res, q, notebookText)
}

// cell is one cell, in either format.
type cell struct {
	Type   string `json:"cell_type"`
	Source joined `json:"source"`
	Input  joined `json:"input"` // code in format 3
}

// joined is text that is written as one string or as a list of lines.
type joined string

// UnmarshalJSON takes both forms.
func (j *joined) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*j = joined(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(b, (*string)(j))
}

// notebookText gives the cells in order, without outputs.
func notebookText(raw []byte) (string, error) {
	var n struct {
		Cells      []cell `json:"cells"`
		Worksheets []struct {
			Cells []cell `json:"cells"`
		} `json:"worksheets"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return "", err
	}
	cells := n.Cells
	for _, w := range n.Worksheets {
		cells = append(cells, w.Cells...)
	}
	if cells == nil && !strings.Contains(string(raw), `"cells"`) {
		return "", errNoCells
	}
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString("\n")
		}
		body := string(c.Source)
		if body == "" {
			body = string(c.Input)
		}
		b.WriteString("# %% [" + c.Type + "]\n" + strings.TrimSuffix(body, "\n") + "\n")
	}
	return b.String(), nil
}

var errNoCells = errors.New("no cells")
