package bench_test

import (
	"slices"
	"strings"
	"testing"

	"taproom/internal/bench"
)

func TestBenchUMLHasTheRowsOfThePublicationAndSaysWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "uml", "--size", "8")
	var rows []string
	for _, row := range r.UML.Rows {
		rows = append(rows, row.Test)
		if len(row.Seconds) != len(r.UML.Engines) {
			t.Errorf("%s has %d columns, want %d", row.Test, len(row.Seconds), len(r.UML.Engines))
		}
	}
	if want := []string{"small-calls", "start-up", "start-up-booted", "upload", "upload-no-write", "write-no-upload"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	for i, name := range r.UML.Engines {
		skipped := slices.ContainsFunc(r.Skipped, func(s bench.Skip) bool { return s.Name == name && s.Why != "" && !strings.Contains(s.Why, "\n") })
		for _, row := range r.UML.Rows {
			dash := skipped || row.Test == "start-up-booted" && name == "uml" // which always boots
			if s := row.Seconds[i]; (s == nil) != dash || s != nil && *s <= 0 {
				t.Errorf("%s of %s is %v, and skipped is %v", row.Test, name, s, skipped)
			}
		}
		if said := r.UML.Fsync[i]; (said == "") != skipped || said == "lies" {
			t.Errorf("fsync of %s is %q, and skipped is %v", name, said, skipped)
		}
	}
	if _, ok := r.Figure("tcg.start-up-booted"); !ok {
		t.Error("what is emulated was not measured")
	}
}
