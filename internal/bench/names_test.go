package bench_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommandMeasuresNamesWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "names", "--links", "2")
	sides := []string{"", "floor.", "history.probe.", "history.counter."}
	var want []string
	for _, kind := range []string{"tap", "macvtap"} {
		for _, s := range sides {
			want = append(want, fmt.Sprintf("%s%s.2.made ms", s, kind))
		}
		for _, s := range sides {
			for _, what := range []string{"create µs each", "open µs each", "delete µs each", "calls each"} {
				if kind == "tap" && what == "open µs each" {
					continue
				}
				want = append(want, fmt.Sprintf("%s%s.2.%s", s, kind, what))
			}
		}
	}
	if d := cmp.Diff(want, figures(t, r)); d != "" {
		t.Errorf("figures (-want +got):\n%s\nskipped: %+v", d, r.Skipped)
	}
}
