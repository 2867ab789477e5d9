package suite

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"taproom/internal/bench"
	"taproom/internal/bench/draw"
	"taproom/internal/bench/stats"
)

// Outcome is what a change means.
type Outcome string

// The outcomes.
const (
	Same   Outcome = "same"   // a difference of 10 % is ruled out, or what is proven is below that
	Better Outcome = "better" // proven, and at least 10 %
	Worse  Outcome = "worse"
	Unsure Outcome = "unsure" // no difference is proven, and one of 10 % not ruled out: the machine was too busy
	Short  Outcome = "short"  // too few repetitions to prove anything, however quiet the machine
)

// Change is a figure of two builds, or of two runs.
type Change struct {
	Part    string  `json:"part"`
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit"`
	Old     float64 `json:"old"` // medians
	New     float64 `json:"new"`
	Against string  `json:"against,omitempty"` // the floor of the same run, by which both were divided
	Ratio   Bounds  `json:"ratio"`             // of the new to the old
	P       float64 `json:"p"`                 // corrected for how many figures were compared
	Outcome Outcome `json:"outcome"`

	raw, least float64
}

// Bounds are an interval as JSON has it, which knows no NaN: all is 0 where there is no ratio.
type Bounds = stats.Interval

// Comparison is what changed.
type Comparison struct {
	Old     string   `json:"old"`
	New     string   `json:"new"`
	Changes []Change `json:"changes"`
	Notes   []string `json:"notes,omitempty"`
}

// Compare says what changed from one report to another, figure by figure. The runs were apart, so each figure is divided by the
// floor of its own run where it has one: a machine that was busier counts for nothing then.
func Compare(old, now *Report) *Comparison {
	c := &Comparison{Old: old.title(), New: now.title(), Changes: []Change{}}
	if a, b := old.Machine, now.Machine; a.Kernel != b.Kernel || a.CPU != b.CPU || a.CPUs != b.CPUs {
		c.Notes = append(c.Notes, fmt.Sprintf("the machines differ: %d × %s with %s, and %d × %s with %s; only figures with a floor say something", a.CPUs, a.CPU, a.Kernel, b.CPUs, b.CPU, b.Kernel))
	}
	for _, p := range old.Parts {
		before, hadIt := old.Part(p.Name)
		after, hasIt := now.Part(p.Name)
		switch {
		case hadIt && hasIt && before.Command == after.Command:
			c.Changes = append(c.Changes, apart(p.Name, before.Report, after.Report)...)
		case hadIt && hasIt:
			c.Notes = append(c.Notes, fmt.Sprintf("%s was measured with other sizes: %s, and %s", p.Name, before.Command, after.Command))
		case hadIt:
			c.Notes = append(c.Notes, p.Name+" was measured in the old report alone")
		case hasIt:
			c.Notes = append(c.Notes, p.Name+" was measured in the new report alone")
		}
	}
	judge(c.Changes)
	return c
}

// title names a report.
func (r *Report) title() string {
	for _, v := range r.Versions {
		if v.Name == "taproom" {
			return fmt.Sprintf("taproom %s, %s", v.Version, r.Made.Format("2006-01-02 15:04 MST"))
		}
	}
	return r.Made.Format("2006-01-02 15:04 MST")
}

// apart compares the figures of two runs.
func apart(part string, old, now *bench.Report) []Change {
	var out []Change
	for _, before := range old.Raw {
		after, ok := raw(now, before.Name)
		if !ok || !judged(before.Name) {
			continue
		}
		ch := newChange(part, before, after)
		a, b := before.Samples, after.Samples
		if floor, ok := floorOf(old, before); ok {
			if nowFloor, ok := raw(now, floor.Name); ok {
				ch.Against, a, b = floor.Name, over(a, floor.Samples), over(b, nowFloor.Samples)
			}
		}
		ch.Ratio, ch.raw = stats.Ratio(b, a, stats.Confidence)
		ch.least = stats.LeastRatio(len(a), len(b))
		out = append(out, ch)
	}
	return out
}

// ByTurns says how the builds differ that a report's parts were measured with by turns. What a round's floor was is the same for both,
// so that it cancels out.
func ByTurns(r *Report, old, now string) *Comparison {
	c := &Comparison{Old: old, New: now, Changes: []Change{}}
	for _, p := range r.Parts {
		if p.State != Measured {
			c.Notes = append(c.Notes, fmt.Sprintf("%s was not measured: %s", p.Name, p.Why))
			continue
		}
		for _, before := range p.Report.Raw {
			name, ok := strings.CutPrefix(before.Name, roleBase+".")
			if !ok || !judged(name) {
				continue
			}
			if after, ok := raw(p.Report, name); ok {
				ch := newChange(p.Name, before, after)
				ch.Figure = name
				ch.Ratio, ch.raw = stats.PairedRatio(after.Samples, before.Samples, stats.Confidence)
				ch.least = stats.LeastPaired(min(len(after.Samples), len(before.Samples)))
				c.Changes = append(c.Changes, ch)
			}
		}
	}
	judge(c.Changes)
	return c
}

// judged reports whether a figure is one of ours that can be better or worse by itself: stages are parts of others.
func judged(name string) bool {
	return roleOf(name) == roleOwn && !strings.Contains("."+name, ".stage.")
}

func newChange(part string, old, now bench.Series) Change {
	return Change{Part: part, Figure: now.Name, Unit: now.Unit, Old: stats.Median(old.Samples), New: stats.Median(now.Samples)}
}

func raw(r *bench.Report, name string) (bench.Series, bool) {
	i := slices.IndexFunc(r.Raw, func(s bench.Series) bool { return s.Name == name })
	if i < 0 {
		return bench.Series{}, false
	}
	return r.Raw[i], true
}

// floorOf is the floor that a figure is compared with in its own report.
func floorOf(r *bench.Report, s bench.Series) (bench.Series, bool) {
	for _, other := range r.Raw {
		if roleOf(other.Name) == roleFloor && other.Unit == s.Unit && counterparts(r.Bench, s.Name, other.Name) {
			return other, true
		}
	}
	return bench.Series{}, false
}

// over divides samples by the floor of their round, or by its median where the rounds are not the same.
func over(v, floor []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		by := stats.Median(floor)
		if len(floor) == len(v) {
			by = floor[i]
		}
		out[i] = v[i] / by
	}
	return out
}

// judge corrects the probabilities for how many figures could prove something, and says what each change means.
func judge(all []Change) {
	family := make([]int, 0, len(all))
	for i := range all {
		all[i].P, all[i].Outcome = 1, Short
		if !math.IsNaN(all[i].Ratio.Estimate) {
			family = append(family, i)
		} else {
			all[i].Ratio = Bounds{}
		}
	}
	for before := -1; before != len(family); { // fewer figures need fewer repetitions each
		before = len(family)
		family = slices.DeleteFunc(family, func(i int) bool { return all[i].least*float64(before) >= stats.Accident })
	}
	p := make([]float64, len(family))
	for k, i := range family {
		p[k] = all[i].raw
	}
	for k, corrected := range stats.Holm(p) {
		ch := &all[family[k]]
		ch.P = corrected
		switch verdict := stats.Judge(ch.Ratio, corrected, ch.least); {
		case verdict == stats.Same && corrected >= stats.Accident && (ch.Ratio.High >= 1+stats.SmallestEffect || ch.Ratio.Low <= 1/(1+stats.SmallestEffect)):
			ch.Outcome = Unsure
		case verdict == stats.Same:
			ch.Outcome = Same
		case (verdict == stats.More) == moreIsBetter(ch.Figure, ch.Unit):
			ch.Outcome = Better
		default:
			ch.Outcome = Worse
		}
	}
}

// moreIsBetter tells rates from times, sizes and counts of what was spent.
func moreIsBetter(figure, unit string) bool {
	return slices.Contains([]string{"1/s", "MB/s", "Mbit/s", "Gbit/s", "kpps"}, unit) || figure == "clones"
}

// Worse are the figures that became so.
func (c *Comparison) Worse() []Change {
	return slices.DeleteFunc(slices.Clone(c.Changes), func(ch Change) bool { return ch.Outcome != Worse })
}

// WriteText prints what changed for a person: what is worse first.
func (c *Comparison) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "old: %s\nnew: %s\n", c.Old, c.New)
	for _, n := range c.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	order := []Outcome{Worse, Better, Unsure, Same, Short}
	all := slices.Clone(c.Changes)
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Compare(slices.Index(order, a.Outcome), slices.Index(order, b.Outcome))
	})
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\tpart\tfigure\told\tnew\tunit\tnew / old\tp")
	for _, ch := range all {
		ratio := Ratio{Interval: ch.Ratio}.text()
		if ch.Ratio.Estimate == 0 {
			ratio = ""
		}
		if ch.Against != "" {
			ratio += ", over " + ch.Against
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2g\n", ch.Outcome, ch.Part, ch.Figure, draw.Number(ch.Old), draw.Number(ch.New), ch.Unit, ratio, ch.P)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	count := map[Outcome]int{}
	for _, ch := range all {
		count[ch.Outcome]++
	}
	_, err := fmt.Fprintf(w, "%d worse, %d better, %d the same within 10 %%, %d too uncertain to tell, %d with too few repetitions\n",
		count[Worse], count[Better], count[Same], count[Unsure], count[Short])
	return err
}
