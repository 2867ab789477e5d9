// Package bench measures taproom, the bare kernel or QEMU below it, and its peers, by turns in one run, and says what it
// could not measure and why. It uses the product as a client would.
package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"taproom/internal/bench/stats"
)

// Report is what one benchmark found. Its JSON form is stable: names are added, never changed.
type Report struct {
	Bench   string       `json:"bench"`
	Host    Host         `json:"host"`
	Figures []Figure     `json:"figures"`
	Skipped []Skip       `json:"skipped"`
	Raw     []Series     `json:"raw,omitempty"` // what the figures summarise, in the order of the rounds
	Compare []Comparison `json:"compare,omitempty"`
	Notes   []string     `json:"notes,omitempty"` // what the figures do not say by themselves
	Boot    *Boot        `json:"boot,omitempty"`
	Plot    *Plot        `json:"plot,omitempty"`
	Shape   *Shape       `json:"shape,omitempty"`
	UML     *UMLTable    `json:"uml,omitempty"`
	Counts  *CountTable  `json:"counts,omitempty"`
}

func newReport(name string) *Report {
	return &Report{Bench: name, Host: ThisHost(), Figures: []Figure{}, Skipped: []Skip{}}
}

// Host is the machine the figures were taken on.
type Host struct {
	Kernel  string  `json:"kernel"`
	CPU     string  `json:"cpu"`
	CPUs    int     `json:"cpus"`
	Load    float64 `json:"load"` // processes that wanted a CPU in the minute before
	QEMU    string  `json:"qemu,omitempty"`
	Version string  `json:"taproom"`
}

// Figure is one quantity over N repetitions. A peer's figure is named peer.…, the bare cost underneath floor.…, another
// build's base.….
type Figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Skip is a figure that could not be taken here.
type Skip struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Series is a figure before it is summarised.
type Series struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"` // at least one
}

// Figure summarises the samples.
func (s Series) Figure() Figure {
	v := s.Samples
	return Figure{Name: s.Name, Unit: s.Unit, Median: stats.Median(v), Min: slices.Min(v), Max: slices.Max(v), N: len(v)}
}

// add takes in what was measured and what was not.
func (r *Report) add(all []Series, skipped ...Skip) {
	for _, s := range all {
		r.Figures = append(r.Figures, s.Figure())
	}
	r.Raw = append(r.Raw, all...)
	r.Compare = append(r.Compare, compare(all)...)
	r.Skipped = append(r.Skipped, skipped...)
}

// Figure returns the figure of that name.
func (r *Report) Figure(name string) (Figure, bool) {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return Figure{}, false
	}
	return r.Figures[i], true
}

// WriteText prints the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s on %s, %d × %s, load %.1f, QEMU %s\n", r.Bench, r.Host.Kernel, r.Host.CPUs, r.Host.CPU, r.Host.Load, r.Host.QEMU)
	fmt.Fprintln(t, "figure\tmin\tmedian\tmax\tunit\tn\t")
	for _, f := range r.Figures {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t\n", f.Name, digits(f.Min), digits(f.Median), digits(f.Max), f.Unit, f.N)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Boot != nil {
		r.Boot.writeText(w, r.Host)
	}
	if r.UML != nil {
		if err := r.UML.writeText(w); err != nil {
			return err
		}
	}
	if r.Plot != nil {
		r.Plot.writeText(w)
	}
	if r.Shape != nil {
		r.Shape.writeText(w)
	}
	if r.Counts != nil {
		r.Counts.writeText(w)
	}
	for _, c := range r.Compare {
		fmt.Fprintf(w, "%s: %.2f of the other build's, %s (p = %.2g)\n", c.Name, c.Ratio, c.verdict(), c.P)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "not measured: %s: %s\n", s.Name, s.Why)
	}
	return nil
}

// digits prints three significant digits, or all before the point.
func digits(v float64) string {
	if v >= 100 || v <= -100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
