package demo

import (
	"fmt"
	"io"
	"strings"

	"taproom/internal/api/own"
)

const barWidth = 44

// waterfall draws the spans of a start, one line each, on one axis of time.
func waterfall(w io.Writer, spans []own.Span) {
	end := int64(1)
	for _, s := range spans {
		end = max(end, s.Start+s.Took)
	}
	fmt.Fprintf(w, "  %-14s %8s  0%*s\n", "", "ms", barWidth-1, fmt.Sprintf("%.1f s", float64(end)/1e6))
	for _, s := range spans {
		from := int(s.Start * barWidth / end)
		width := max(1, int((s.Start+s.Took)*barWidth/end)-from)
		bar := strings.Repeat(" ", min(from, barWidth-1)) + strings.Repeat("█", min(width, barWidth))
		line := fmt.Sprintf("  %-14s %8.1f  %s", s.Name, float64(s.Took)/1e3, bar)
		if s.Note != "" {
			line += "  " + s.Note
		}
		fmt.Fprintln(w, line)
	}
}
