package suite

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"taproom/internal/bench/draw"
)

// Text is the report for a terminal or a mail.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "taproom bench, %s\n%s\n\n", r.Made.Format("2006-01-02 15:04 MST"), r.Command)
	for _, row := range r.facts() {
		fmt.Fprintf(&b, "%s: %s\n", row[0], row[1])
	}
	fmt.Fprintln(&b)
	for _, m := range r.Method {
		fmt.Fprintf(&b, "* %s\n", m)
	}
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "\n== %s: %s\n   %s\n", p.Name, p.About, p.Command)
		if p.State != Measured || p.Report == nil {
			fmt.Fprintf(&b, "   %s: %s\n", p.State, p.Why)
			continue
		}
		_ = p.Report.WriteText(&b) // a builder takes everything
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		for _, q := range p.Ratios {
			fmt.Fprintf(t, "%s\tto %s\t%s\n", q.Figure, q.Against, q.text())
		}
		_ = t.Flush() // as above
		for _, l := range p.Left {
			fmt.Fprintf(&b, "left behind and removed: %s\n", l)
		}
	}
	return b.String()
}

// facts are what is said of the machine.
func (r *Report) facts() [][2]string {
	out := [][2]string{
		{"machine", fmt.Sprintf("%d × %s, %s MiB", r.Machine.CPUs, r.Machine.CPU, draw.Number(float64(r.Machine.Memory)))},
		{"kernel", r.Machine.Kernel},
		{"KVM", r.Machine.KVM},
	}
	for _, v := range r.Versions {
		out = append(out, [2]string{v.Name, v.Version})
	}
	return append(out, [2]string{"took", fmt.Sprintf("%s s", draw.Number(r.Took))})
}

// text is the estimate, and its interval where there is one.
func (q Ratio) text() string {
	if q.Confidence <= 0 {
		return fmt.Sprintf("× %s, once", draw.Number(q.Estimate))
	}
	return fmt.Sprintf("× %s (%s to %s, %.0f %%)", draw.Number(q.Estimate), draw.Number(q.Low), draw.Number(q.High), 100*q.Confidence)
}
