package arguments

// A judgement may look at this many schema nodes, and at so many more for each value judged. Plain schemas look once or twice at a value; one of
// nested choices can ask for two to the power of the depth.
const (
	freeEffort     = 500_000
	effortPerValue = 50
)

// effort is what one judgement has spent, shared by all its parts. When it is used up everything counts as unfit and the judgement as none.
type effort struct {
	spent, limit int
	over         any // the value judged, counted only when the free effort is used up; nil once it is
	exhausted    bool
}

func newEffort(over any) *effort { return &effort{limit: freeEffort, over: over} }

// spend counts one look; false if there are none left.
func (e *effort) spend() bool {
	if e.spent++; e.spent <= e.limit {
		return true
	}
	if e.over != nil {
		e.limit += effortPerValue * countValues(e.over)
		e.over = nil
	}
	e.exhausted = e.spent > e.limit
	return !e.exhausted
}

func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += countValues(e)
		}
	case []any:
		for _, e := range v {
			n += countValues(e)
		}
	}
	return n
}
