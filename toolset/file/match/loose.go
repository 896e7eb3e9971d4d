package match

import (
	"cmp"
	"slices"
)

// The loosest strategies: what their places must have at least.
const (
	minMiddle     = 0.70 // likeness of what lies between the anchors
	lengthSlack   = 0.20 // of the number of lines
	minLine       = 0.80
	minMean       = 0.90
	tooClose      = 0.05   // two places whose likeness differs by less are meant equally
	maxAnchored   = 256    // pairs of anchors; where there are more they don't anchor anything
	maxAligned    = 60_000 // pairs of lines that are weighed for one edit; beyond it the anchors decide nothing either
	maxContenders = 4096
)

// scored is a place with its likeness.
type scored struct {
	place
	likeness float64
}

// best picks the one place that is likelier than all others.
func (s *search) best(name Strategy, list []scored) ([]place, error) {
	if len(list) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.likeness, a.likeness) })
	n := 1
	for n < len(list) && list[0].likeness-list[n].likeness < tooClose {
		n++
	}
	if n > 1 {
		e := &Ambiguous{Strategy: name, Count: n}
		for _, p := range list[:min(n, maxShownLines)] {
			e.Lines = append(e.Lines, p.first+1)
		}
		slices.Sort(e.Lines)
		return nil, e
	}
	return []place{list[0].place}, nil
}

// numbers are the lines of the file without outer blanks, as numbers: equal lines have equal ones.
func (s *search) numbers() (file, old []int) {
	if s.ids != nil {
		return s.ids, s.oldIDs
	}
	number := make(map[string]int, len(s.old))
	lengths := uint64(0)
	s.oldTrim, s.trim = make([]string, len(s.old)), make([]string, len(s.file))
	s.oldWeight, s.weight = make([]int, len(s.old)), make([]int, len(s.file))
	for i, l := range s.old {
		t := trimBlank(l)
		s.oldTrim[i], s.oldWeight[i] = t, weight(t)
		if _, ok := number[t]; !ok {
			number[t] = len(number) + 1
			lengths |= 1 << (len(t) & 63)
		}
		s.oldIDs = append(s.oldIDs, number[t])
	}
	s.ids = make([]int, len(s.file))
	for i, l := range s.file {
		s.trim[i] = trimBlank(l)
		s.weight[i] = weight(s.trim[i])
		if lengths>>(len(s.trim[i])&63)&1 != 0 {
			s.ids[i] = number[s.trim[i]] // 0 = not in the pattern
		}
	}
	return s.ids, s.oldIDs
}

// likeness of line i of the pattern and line j of the file.
func (s *search) likeness(i, j int) float64 {
	file, old := s.numbers()
	if file[j] == old[i] {
		return 1
	}
	key := [2]int{i, j}
	if file[j] > 0 { // a line of the pattern: compared once, wherever it stands
		key[1] = -file[j]
	}
	if v, ok := s.memo[key]; ok {
		return v
	}
	v := alike(s.oldTrim[i], s.trim[j])
	s.memo[key] = v
	return v
}

// blockAnchor wants first and last line equal, and what lies between alike.
func (s *search) blockAnchor() ([]place, error) {
	n := len(s.old)
	if n < 3 || weightless(trimBlank(s.old[0])) {
		return nil, nil
	}
	file, old := s.numbers()
	slack := int(lengthSlack * float64(n))
	var list []scored
	anchored, cells := 0, 0
	for first, id := range file {
		if id != old[0] {
			continue
		}
		for last := first + max(n-slack, 3) - 1; last < min(first+n+slack, len(file)); last++ {
			if file[last] != old[n-1] || !s.sameSlope(first, last) {
				continue
			}
			anchored++
			cells += (n - 2) * (last - first - 1)
			if anchored > maxAnchored || cells > maxAligned && anchored > 1 {
				return nil, nil
			}
			if p, like := s.alignMiddle(first, last); like >= minMiddle {
				list = append(list, scored{p, like})
			}
		}
	}
	return s.best(BlockAnchor, list)
}

// sameSlope reports whether the last line is indented against the first one as in the pattern: closing brackets look all the same.
func (s *search) sameSlope(first, last int) bool {
	slope := func(a, b string) int { return cmp.Compare(len(indentOf(a)), len(indentOf(b))) }
	return slope(s.old[0], s.old[len(s.old)-1]) == slope(s.file[first], s.file[last])
}

// alignMiddle pairs the lines between two anchors so that as much as possible is equal, and tells how much that is.
func (s *search) alignMiddle(first, last int) (place, float64) {
	a, b := len(s.old)-2, last-first-1
	if a*b > 10*maxAligned {
		return place{}, 0
	}
	width := b + 1
	score := make([]float64, (a+1)*width)
	weights := func(i, j int) float64 {
		x, y := s.oldWeight[i+1], s.weight[first+1+j]
		if x == 0 || y == 0 {
			if s.oldTrim[i+1] == s.trim[first+1+j] {
				return 1e-6 // pairs them where nothing better is
			}
			return 0
		}
		like := s.likeness(i+1, first+1+j)
		if like < worthless {
			return 0
		}
		return like * float64(x+y)
	}
	for i := a - 1; i >= 0; i-- {
		for j := b - 1; j >= 0; j-- {
			score[i*width+j] = max(score[(i+1)*width+j], score[i*width+j+1], weights(i, j)+score[(i+1)*width+j+1])
		}
	}
	p := place{first: first, last: last + 1, pairs: make([]int, len(s.old))}
	for i := range p.pairs {
		p.pairs[i] = -1
	}
	p.pairs[0], p.pairs[len(s.old)-1] = first, last
	for i, j := 0, 0; i < a && j < b; {
		w := weights(i, j)
		switch here := score[i*width+j]; {
		case w > 0 && here == w+score[(i+1)*width+j+1]:
			p.pairs[i+1] = first + 1 + j
			i, j = i+1, j+1
		case here == score[(i+1)*width+j]:
			i++
		default:
			j++
		}
	}
	all := s.content(first, last)
	if all == 0 {
		return p, 0
	}
	return p, score[0] / all
}

// content is all that counts between the anchors, on both sides.
func (s *search) content(first, last int) float64 {
	all := 0
	for _, w := range s.oldWeight[1 : len(s.old)-1] {
		all += w
	}
	for _, w := range s.weight[first+1 : last] {
		all += w
	}
	return float64(all)
}

// contextAware wants as many lines, each nearly equal, the outermost ones equal.
func (s *search) contextAware() ([]place, error) {
	n := len(s.old)
	top, bottom := 0, n-1
	for top < n && trimBlank(s.old[top]) == "" {
		top++
	}
	for bottom > top && trimBlank(s.old[bottom]) == "" {
		bottom--
	}
	if bottom-top < 2 || weightless(trimBlank(s.old[top])) && weightless(trimBlank(s.old[bottom])) {
		return nil, nil
	}
	file, old := s.numbers()
	var list []scored
	contenders := 0
	for at := 0; at+n <= len(file); at++ {
		if file[at+top] != old[top] || file[at+bottom] != old[bottom] {
			continue
		}
		if contenders++; contenders > maxContenders {
			return nil, nil
		}
		if mean, ok := s.nearly(at); ok {
			list = append(list, scored{place{first: at, last: at + n}, mean})
		}
	}
	return s.best(ContextAware, list)
}

// nearly compares line by line and gives the mean likeness of the lines that count.
func (s *search) nearly(at int) (float64, bool) {
	sum, count := 0.0, 0
	for i := range s.old {
		if s.ids[at+i] == s.oldIDs[i] && s.oldWeight[i] > 0 {
			sum++
			count++
			continue
		}
		x, y := s.oldTrim[i], s.trim[at+i]
		if (x == "") != (y == "") {
			return 0, false
		}
		if s.oldWeight[i] == 0 && s.weight[at+i] == 0 {
			if x != y {
				return 0, false
			}
			continue
		}
		like := s.likeness(i, at+i)
		if like < minLine {
			return 0, false
		}
		sum += like
		count++
	}
	if count == 0 {
		return 0, false
	}
	mean := sum / float64(count)
	return mean, mean >= minMean
}
