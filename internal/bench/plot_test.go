package bench

import (
	"strings"
	"testing"
)

func TestAPlotShowsEveryPoint(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	(&Plot{X: "appliances", Y: "s", Points: []Point{{10, 1}, {50, 4}, {100, 8}}}).writeText(&text)
	lines := strings.Split(text.String(), "\n")
	for _, want := range []struct {
		line   int
		column int // of a point, behind the axis
	}{{2, 60}, {10, 30}, {16, 6}} {
		_, row, _ := strings.Cut(lines[want.line], "│")
		if got := strings.Index(row, "●"); got != want.column {
			t.Errorf("line %d has its point in column %d, want %d:\n%s", want.line, got, want.column, &text)
		}
	}
	for _, want := range []string{"s against appliances\n", "       8 │", " 0", " 100", " 50: 4\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the plot has no %q:\n%s", want, &text)
		}
	}
	text.Reset()
	(&Plot{Points: []Point{{0, 0}}}).writeText(&text)
	if text.Len() != 0 {
		t.Errorf("a plot of nothing is %q", &text)
	}
}
