package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Shape is what limits let through, and how long requests took meanwhile.
type Shape struct {
	Rows   []ShapeRow   `json:"rows"`
	Delays []ShapeDelay `json:"delays"`
}

// What became of a limit.
const (
	ShapeKept   = "kept"   // what passed is what the limit is
	ShapeWrong  = "wrong"  // it is not
	ShapeBeyond = "beyond" // the machine does not carry as much without a limit
	ShapeSilent = "silent" // nothing arrived, with or without one
)

// ShapeRow is one transfer.
type ShapeRow struct {
	Through   string  `json:"through"`
	Direction string  `json:"direction"` // as the guest sees it
	KiB       int     `json:"kib"`       // of the limit, a second; 0 is none
	Transport string  `json:"transport"`
	Mbits     float64 `json:"mbits"`             // payload that the receiver got, a second
	Want      float64 `json:"want,omitempty"`    // what the limit is, by its arithmetic
	CPU       float64 `json:"cpu"`               // of the whole machine, in percent of one processor
	Verdict   string  `json:"verdict,omitempty"` // kept, wrong, beyond or silent
	Why       string  `json:"why,omitempty"`     // nothing is measured

	tolerance float64
}

func (r ShapeRow) name() string {
	return fmt.Sprintf("%s.%s.%s.%s", r.Through, r.Direction, limitName(r.KiB), r.Transport)
}

// ShapeDelay is how long requests took beside a transfer; without a limit there is none beside.
type ShapeDelay struct {
	Through   string  `json:"through"`
	Direction string  `json:"direction"` // of the transfer
	KiB       int     `json:"kib"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Lost      int     `json:"lost"` // requests without an answer
}

func (d ShapeDelay) name() string {
	return fmt.Sprintf("%s.%s.%s.delay", d.Through, d.Direction, limitName(d.KiB))
}

// judge says of each limit what became of it.
func (s *Shape) judge(r *Report) {
	wrong, silent := 0, 0
	for i := range s.Rows {
		row := &s.Rows[i]
		if row.Why != "" {
			row.Verdict = ShapeSilent
			silent++
			continue
		}
		if row.KiB == 0 {
			continue
		}
		free := s.row(row.Through, row.Direction, 0, row.Transport)
		switch {
		case math.Abs(row.Mbits/row.Want-1) <= row.tolerance:
			row.Verdict = ShapeKept
		case free != nil && free.Why == "" && free.Mbits < row.Want*(1+row.tolerance) && row.Mbits < row.Want:
			row.Verdict = ShapeBeyond
		default:
			row.Verdict = ShapeWrong
			wrong++
		}
	}
	if wrong > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d limits were not kept within 1 %% (UDP: 2 %%) of what they are", wrong))
	}
	if silent > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("of %d transfers nothing arrived", silent))
	}
	r.Notes = append(r.Notes,
		"a limit of N KiB/s is N × 1024 bytes of TCP payload over IPv4 a second; IPv6 gets (mtu - 72) / (mtu - 52) of that, UDP (mtu - 28) / (mtu - 52), over IPv6 (mtu - 48) / (mtu - 52)",
		"delays are of 100 requests a second beside one stream; with no limit, beside nothing")
}

func (s *Shape) row(through, direction string, kib int, transport string) *ShapeRow {
	i := slices.IndexFunc(s.Rows, func(r ShapeRow) bool {
		return r.Through == through && r.Direction == direction && r.KiB == kib && r.Transport == transport
	})
	if i < 0 {
		return nil
	}
	return &s.Rows[i]
}

// published is what was published for outbound TCP from a guest to its host, in Mbit/s, after libvirt's policing had been given
// the right size of segments.
func published(kib int) float64 {
	return map[int]float64{1024: 8.22, 2048: 16.42, 4096: 32.93, 8192: 66.85, 16384: 133.88, 32768: 271.01, 65536: 547.32}[kib]
}

// writeText prints a table for each way and direction: limits across, transports down.
func (s *Shape) writeText(w io.Writer) {
	var limits []int
	var transports, tables []string
	for _, r := range s.Rows {
		limits, transports = including(limits, r.KiB), including(transports, r.Transport)
		tables = including(tables, r.Through+", "+r.Direction)
	}
	for _, table := range tables {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
		line := func(name string, cell func(kib int) string) {
			fmt.Fprintf(t, "%s\t", name)
			for _, kib := range limits {
				fmt.Fprintf(t, "%s\t", cell(kib))
			}
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "\n%s\t\t\n", table)
		line("limit in KiB/s", limitName)
		for _, x := range transports {
			line(x+" Mbit/s", func(kib int) string { return s.cell(table, kib, x, ShapeRow.rate) })
			line("of the limit", func(kib int) string { return s.cell(table, kib, x, ShapeRow.ofLimit) })
			line("CPU", func(kib int) string { return s.cell(table, kib, x, ShapeRow.cpu) })
		}
		line("published tcp", func(kib int) string {
			if v := published(kib); v > 0 {
				return fmt.Sprintf("%.2f", v)
			}
			return ""
		})
		line("requests, p50 ms", func(kib int) string { return s.delay(table, kib, func(d ShapeDelay) float64 { return d.P50 }) })
		line("p99 ms", func(kib int) string { return s.delay(table, kib, func(d ShapeDelay) float64 { return d.P99 }) })
		_ = t.Flush() // the writer below says so itself
	}
}

func including[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

func (s *Shape) cell(table string, kib int, transport string, show func(ShapeRow) string) string {
	for _, r := range s.Rows {
		if r.Through+", "+r.Direction == table && r.KiB == kib && r.Transport == transport {
			return show(r)
		}
	}
	return ""
}

func (s *Shape) delay(table string, kib int, of func(ShapeDelay) float64) string {
	for _, d := range s.Delays {
		if d.Through+", "+d.Direction == table && d.KiB == kib {
			return fmt.Sprintf("%.1f", of(d))
		}
	}
	return ""
}

func (r ShapeRow) rate() string {
	if r.Why != "" {
		return r.Why
	}
	return fmt.Sprintf("%.2f", r.Mbits)
}

func (r ShapeRow) cpu() string {
	if r.Why != "" {
		return ""
	}
	return fmt.Sprintf("%.0f %%", r.CPU)
}

// ofLimit is what passed of a limit, and what to think of that when it is not what it should be.
func (r ShapeRow) ofLimit() string {
	switch {
	case r.KiB == 0, r.Why != "":
		return ""
	case r.Verdict == ShapeKept:
		return fmt.Sprintf("%.2f %%", 100*r.Mbits/r.Want)
	}
	return fmt.Sprintf("%.2f %% %s", 100*r.Mbits/r.Want, r.Verdict)
}
