package bench_test

import "testing"

func TestBenchInspectMeasuresImages(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "inspect", "--images", "4", "--workers", "2")
	for name, unit := range map[string]string{"images": "1/s", "image.p50": "ms", "image.p99": "ms"} {
		if f, ok := r.Figure(name); !ok || f.Unit != unit || f.Median <= 0 {
			t.Errorf("%s: %+v, want a figure in %s", name, f, unit)
		}
	}
	if len(r.Notes) != 1 || len(r.Skipped) != 1 || r.Skipped[0].Name != "peer.libguestfs" {
		t.Errorf("notes %q, skipped %+v", r.Notes, r.Skipped)
	}
}
