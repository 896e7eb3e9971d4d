// Package align finds out which lines two texts have in common.
package align

// maxCells bounds the work of one comparison; beyond it what lies between the common ends counts as changed.
const maxCells = 4 << 20

// Change says that a[From:To] became b[NewFrom:NewTo]. Kept is where the unchanged run before it begins in a.
type Change struct {
	Kept, From, To int
	NewFrom, NewTo int
}

// Changes lists what has to be changed to make b of a, in order; lines outside are equal and stay.
func Changes(a, b []string) []Change {
	var out []Change
	kept, i, j := 0, 0, 0
	emit := func(toA, toB int) {
		if toA > i || toB > j {
			out = append(out, Change{Kept: kept, From: i, To: toA, NewFrom: j, NewTo: toB})
			kept = toA
		}
	}
	for _, p := range Common(a, b) {
		emit(p[0], p[1])
		i, j = p[0]+1, p[1]+1
	}
	emit(len(a), len(b))
	return out
}

// Common gives pairs of indexes of equal lines, rising in both: a longest common subsequence.
func Common(a, b []string) [][2]int {
	var out [][2]int
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		out = append(out, [2]int{n, n})
		n++
	}
	m := 0
	for m < len(a)-n && m < len(b)-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	x, y := a[n:len(a)-m], b[n:len(b)-m]
	for _, p := range inner(x, y) {
		out = append(out, [2]int{p[0] + n, p[1] + n})
	}
	for k := m; k > 0; k-- {
		out = append(out, [2]int{len(a) - k, len(b) - k})
	}
	return out
}

// inner is the table of longest common subsequences, read from the front.
func inner(a, b []string) [][2]int {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxCells {
		return nil
	}
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i++
			j++
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
