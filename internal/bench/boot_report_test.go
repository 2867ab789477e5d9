package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestABootReportHasEachWayWithItsRatios(t *testing.T) {
	t.Parallel()
	all := []Series{
		{"floor.qemu", "ms", []float64{10, 10, 10}},
		{"cold.ready", "ms", []float64{100, 110, 120}},
		{"pool_mounted.ready", "ms", []float64{20}},
		{"peer.libguestfs", "ms", []float64{1000, 1100, 1200}},
		{"peer.libguestfs.mounted", "ms", []float64{2000}},
		{"cold.stage.exec", "ms", []float64{10}},
		{"cold.stage.agent", "ms", []float64{110}},
		{"cold.stage.shutdown", "ms", []float64{30}},
	}
	want := []Result{
		{Way: "cold", Mean: 110, SD: 10, Median: 110, P99: 120, Floor: 11, Peer: 10},
		{Way: "pool_mounted", Mean: 20, Median: 20, P99: 20, Floor: 2, Peer: 100},
		{Way: "peer.libguestfs", Mean: 1100, SD: 100, Median: 1100, P99: 1200, Floor: 110},
		{Way: "peer.libguestfs.mounted", Mean: 2000, Median: 2000, P99: 2000, Floor: 200},
	}
	if d := cmp.Diff(want, results(all), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	bars := []Bar{{"cold", "exec", 0, 10}, {"cold", "agent", 10, 110}, {"cold", "shutdown", 110, 140}}
	if d := cmp.Diff(bars, waterfall(all)); d != "" {
		t.Errorf("waterfall (-want +got):\n%s", d)
	}
	var text strings.Builder
	b := Boot{Passes: 3, Memsize: 128, Results: want, Stages: bars}
	b.writeText(&text, Host{Version: "v1", Kernel: "6.1", CPU: "x", CPUs: 2})
	for _, line := range []string{
		"  test version: taproom v1\n", "   test passes: 3\n", "       memsize: 128\n",
		"                    cold: 110.0ms ±10.0ms  median 110.0  p99 120.0  11.00 × the floor  1/10 of libguestfs\n",
		"      exec ████ 10.0\n", "  shutdown                                        ███████████ 140.0\n",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the text has no line %q:\n%s", line, &text)
		}
	}
}

func TestAQuantileIsAValueThatWasMeasured(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		v    []float64
		q    float64
		want float64
	}{
		{hundred, 0.99, 99},
		{hundred, 0.5, 50},
		{[]float64{3}, 0.99, 3},
		{[]float64{1, 2}, 0.99, 2},
	} {
		if got := quantile(c.v, c.q); got != c.want {
			t.Errorf("the %v quantile of %d values is %v, want %v", c.q, len(c.v), got, c.want)
		}
	}
}
