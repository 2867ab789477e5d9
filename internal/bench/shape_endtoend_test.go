package bench_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBenchShape_ManyHasStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "shape", "--many=2,3")
	var want []string
	for _, n := range []string{"many.2.", "many.3."} {
		want = append(want, n+"unlimited ms", n+"limited ms", "floor."+n+"limits ms", "floor."+n+"setup µs each", n+"setup µs each",
			"floor."+n+"change µs", n+"change µs")
	}
	var got []string
	for _, f := range r.Figures {
		got = append(got, f.Name+" "+f.Unit)
		if own := !strings.HasPrefix(f.Name, "floor.") && strings.HasSuffix(f.Name, ".setup"); f.N != 2 || f.Min <= 0 && !own { // of so few NICs a difference can be any
			t.Errorf("%+v is no figure of two rounds", f)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("figures (-want +got):\n%s\nskipped: %+v", d, r.Skipped)
	}
	for _, n := range []string{"0", "1,4001"} {
		_, said, code := taproom(t, programs(t), "bench", "shape", "--many="+n)
		if want := "--many [" + strings.ReplaceAll(n, ",", " ") + "]"; code != 2 || !strings.Contains(said, want) {
			t.Errorf("exit code %d, said %q; want 2 and %q", code, said, want)
		}
	}
}
