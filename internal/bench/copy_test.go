package bench_test

import (
	"slices"
	"testing"
)

func TestBenchCopyMeasuresBothWays(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "copy", "--size", "8")
	got := figures(t, r)
	if want := []string{"up s", "down s", "up.net MB/s", "down.net MB/s"}; !slices.Equal(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
	if r.Host.QEMU == "" || len(r.Notes) != 1 {
		t.Errorf("QEMU %q, notes %q", r.Host.QEMU, r.Notes)
	}
}
