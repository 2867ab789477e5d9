package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableHasADashForWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	one, two := 1.234, 250.6
	table := UMLTable{
		Engines: []string{"uml", "tcg"}, Fsync: []string{"", "on disk"},
		Rows: []UMLRow{{"start-up", []*float64{nil, &one}}, {"upload", []*float64{nil, &two}}},
	}
	var b strings.Builder
	if err := table.writeText(&b); err != nil {
		t.Fatal(err)
	}
	want := "   seconds  uml      tcg\n" +
		"  start-up    –     1.23\n" +
		"    upload    –      251\n" +
		"     fsync    –  on disk\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
