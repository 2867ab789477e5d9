package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// UMLTable is the comparison of User-Mode Linux with QEMU as it was published: a row for each test, a column for each engine.
type UMLTable struct {
	Engines []string `json:"engines"`
	Rows    []UMLRow `json:"rows"`
	// Fsync says for each engine what the guest's fsync is worth: "on disk"; "lies", where something was not; "unknown" where the host
	// does not tell; "" where the engine does not run.
	Fsync []string `json:"fsync"`
}

// UMLRow is one test: medians in seconds, nil for an engine that does not run here.
type UMLRow struct {
	Test    string     `json:"test"`
	Seconds []*float64 `json:"seconds"`
}

// none stands where there is no figure.
const none = "–"

func (t *UMLTable) writeText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "seconds\t")
	for _, name := range t.Engines {
		fmt.Fprintf(out, "%s\t", name)
	}
	fmt.Fprintln(out)
	for _, row := range t.Rows {
		fmt.Fprintf(out, "%s\t", row.Test)
		for _, s := range row.Seconds {
			if s == nil {
				fmt.Fprintf(out, "%s\t", none)
			} else {
				fmt.Fprintf(out, "%s\t", digits(*s))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "fsync\t")
	for _, said := range t.Fsync {
		if said == "" {
			said = none
		}
		fmt.Fprintf(out, "%s\t", said)
	}
	fmt.Fprintln(out)
	return out.Flush()
}
