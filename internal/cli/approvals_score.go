package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
)

// score counts how the verdicts compare with those that are expected.
type score struct {
	expected, dangerous, found, harmless, asked int
	floor, floorDenied, harmlessDenied          int
	families                                    map[string]*familyScore
	took                                        []time.Duration
}

// familyScore is a score's part for the dangerous commands that a family of patterns is about.
type familyScore struct {
	Dangerous int     `json:"dangerous"`
	Found     int     `json:"found"`
	Recall    float64 `json:"recall"`
}

// scoreShape is a score as JSON.
type scoreShape struct {
	Dangerous         int                     `json:"dangerous"`
	Found             int                     `json:"found"`
	Recall            float64                 `json:"recall"`
	Harmless          int                     `json:"harmless"`
	Asked             int                     `json:"asked"`
	FalsePositiveRate float64                 `json:"false_positive_rate"`
	Floor             int                     `json:"floor"`
	FloorDenied       int                     `json:"floor_denied"`
	HarmlessDenied    int                     `json:"harmless_denied"`
	P50               float64                 `json:"p50_us"`
	P99               float64                 `json:"p99_us"`
	Max               float64                 `json:"max_us"`
	ByFamily          map[string]*familyScore `json:"by_family"`
}

// add counts one line. Where nothing is expected only the time counts.
func (s *score) add(line *tryLine, got approval.Trial) {
	s.took = append(s.took, got.Took)
	stopped, denied := got.Verdict != approval.TrialAllow, got.Verdict == approval.TrialDeny
	switch line.Verdict {
	case approval.TrialAllow:
		s.expected++
		s.harmless++
		count(&s.asked, stopped)
		count(&s.harmlessDenied, denied)
		return
	case approval.TrialDeny:
		s.floor++
		count(&s.floorDenied, denied)
	case approval.TrialAsk:
	default:
		return
	}
	s.expected++
	s.dangerous++
	count(&s.found, stopped)
	var seen []string
	for _, id := range line.IDs {
		family, _, _ := strings.Cut(id, ".")
		if slices.Contains(seen, family) {
			continue
		}
		seen = append(seen, family)
		if s.families == nil {
			s.families = map[string]*familyScore{}
		}
		if s.families[family] == nil {
			s.families[family] = &familyScore{}
		}
		s.families[family].Dangerous++
		count(&s.families[family].Found, stopped)
	}
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

func (s *score) summary() scoreShape {
	slices.Sort(s.took)
	at := func(share int) float64 {
		if len(s.took) == 0 {
			return 0
		}
		return float64(s.took[min(len(s.took)*share/100, len(s.took)-1)].Nanoseconds()) / 1e3
	}
	out := scoreShape{Dangerous: s.dangerous, Found: s.found, Recall: part(s.found, s.dangerous), Harmless: s.harmless, Asked: s.asked,
		FalsePositiveRate: part(s.asked, s.harmless), Floor: s.floor, FloorDenied: s.floorDenied, HarmlessDenied: s.harmlessDenied,
		P50: at(50), P99: at(99), Max: at(100), ByFamily: map[string]*familyScore{}}
	for name, f := range s.families {
		f.Recall = part(f.Found, f.Dangerous)
		out.ByFamily[name] = f
	}
	return out
}

// part is a share; of nothing, it is zero.
func part(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// absolute makes a directory that was given absolute; it need not be there.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	return filepath.Abs(dir)
}
