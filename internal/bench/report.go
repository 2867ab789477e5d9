// Package bench measures taproom, the bare kernel or QEMU below it, and its peers, by turns in one run, and says what it
// could not measure and why. It uses the product as a client would.
package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Report is what one benchmark found. Its JSON form is stable: names are added, never changed.
type Report struct {
	Bench   string   `json:"bench"`
	Host    Host     `json:"host"`
	Figures []Figure `json:"figures"`
	Skipped []Skip   `json:"skipped"`
}

// Host is the machine the figures were taken on.
type Host struct {
	Kernel  string `json:"kernel"`
	CPU     string `json:"cpu"`
	CPUs    int    `json:"cpus"`
	QEMU    string `json:"qemu,omitempty"`
	Version string `json:"taproom"`
}

// Figure is one quantity over N repetitions. A peer's figure is named peer.…, the bare cost underneath floor.….
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

// NewFigure summarises samples; there must be at least one.
func NewFigure(name, unit string, samples []float64) Figure {
	s := slices.Sorted(slices.Values(samples))
	median := s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return Figure{Name: name, Unit: unit, Median: median, Min: s[0], Max: s[len(s)-1], N: len(s)}
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
	fmt.Fprintf(w, "%s on %s, %d × %s, QEMU %s\n", r.Bench, r.Host.Kernel, r.Host.CPUs, r.Host.CPU, r.Host.QEMU)
	fmt.Fprintln(t, "figure\tmin\tmedian\tmax\tunit\tn\t")
	for _, f := range r.Figures {
		fmt.Fprintf(t, "%s\t%.3g\t%.3g\t%.3g\t%s\t%d\t\n", f.Name, f.Min, f.Median, f.Max, f.Unit, f.N)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "not measured: %s: %s\n", s.Name, s.Why)
	}
	return nil
}
