package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/bench"
)

// part is a result with figures of those names, in ms.
func part(names ...string) *Result {
	r := &bench.Report{Bench: "x"}
	for i, n := range names {
		v := float64(i + 1)
		r.Figures = append(r.Figures, bench.Figure{Name: n, Unit: "ms", Median: v, Min: v / 2, Max: 2 * v, N: 3})
		r.Raw = append(r.Raw, bench.Series{Name: n, Unit: "ms", Samples: []float64{v / 2, v, 2 * v}})
	}
	return &Result{Name: "x", State: Measured, Report: r}
}

func captions(p *Result) []string {
	var out []string
	for _, pic := range plots(p) {
		out = append(out, pic.Caption)
	}
	return out
}

func TestFiguresOfSeveralCountsAreDrawnAgainstTheCountAndTheRestAsBars(t *testing.T) {
	t.Parallel()
	p := part("floor.tap.8.made", "floor.tap.1.made", "floor.tap.82.made", "tap.1.made", "tap.8.made", "tap.82.made", "once", "rss.500", "stage.parse", "stage.exec")
	want := []string{"Stages of a start", "made against the count (ms)", "x (ms)"}
	if got := captions(p); !slices.Equal(got, want) {
		t.Errorf("plots %q, want %q", got, want)
	}
	all := plots(p)
	for i, names := range [][]string{{">parse<", ">exec<"}, {">floor.tap.#.made<", ">tap.#.made<"}, {">once<", ">rss.500<"}} {
		for _, name := range names {
			if !strings.Contains(string(all[i].SVG), name) {
				t.Errorf("%s has no %s", all[i].Caption, name)
			}
		}
	}
}

func TestManyFiguresMakeManyPlots(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("figure-%d", i))
	}
	if got, want := captions(part(names...)), []string{"x (ms), 1 of 3", "x (ms), 2 of 3", "x (ms), 3 of 3"}; !slices.Equal(got, want) {
		t.Errorf("plots %q, want %q", got, want)
	}
	names = nil
	for i := range 10 {
		for _, n := range []int{1, 10, 100} {
			names = append(names, fmt.Sprintf("way-%c.%d.made", 'a'+i, n))
		}
	}
	if got, want := captions(part(names...)), []string{"made against the count (ms)", "made against the count (ms), plot 2"}; !slices.Equal(got, want) {
		t.Errorf("plots %q, want %q", got, want)
	}
}

func TestLimitsAreDrawnAgainstWhatPassed(t *testing.T) {
	t.Parallel()
	p := part("tap.out.1024.tcp1.delay.p99")
	p.Report.Shape = &bench.Shape{}
	for _, kib := range []int{0, 1024, 8192} {
		for _, transport := range []string{"tcp1", "udp"} {
			p.Report.Shape.Rows = append(p.Report.Shape.Rows, bench.ShapeRow{Through: "tap", Direction: "out", KiB: kib, Transport: transport, Mbits: float64(kib) / 122})
		}
	}
	if got, want := captions(p), []string{"What limits let through: tap, out", "x (ms)"}; !slices.Equal(got, want) {
		t.Errorf("plots %q, want %q", got, want)
	}
}

func TestFiguresAreComparedWithWhatWasMeasuredBesideThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bench  string
		names  []string
		expect []string
	}{
		{"start", []string{"floor", "total", "own", "stage.exec", "peer.libvirt"}, []string{"total floor", "total peer.libvirt"}},
		{"readopt", []string{"floor", "tap.25x8"}, []string{"tap.25x8 floor"}},
		{"names", []string{"floor.tap.8.made", "probe.tap.8.made", "tap.8.made", "tap.82.made"}, []string{"tap.8.made floor.tap.8.made", "tap.8.made probe.tap.8.made"}},
		{"networks", []string{"floor.20.start", "floor.firewalld-nftables.20.start", "nft.20.start", "peer.libvirt.20.start"}, []string{"nft.20.start floor.20.start", "nft.20.start peer.libvirt.20.start"}},
		{"boot", []string{"floor.qemu", "cold.ready", "mounted.ready", "peer.libguestfs", "peer.libguestfs.mounted"}, []string{
			"cold.ready floor.qemu", "cold.ready peer.libguestfs", "mounted.ready floor.qemu", "mounted.ready peer.libguestfs.mounted",
		}},
		{"start", []string{"base.total", "total"}, []string{"total base.total"}},
	} {
		r := part(c.names...).Report
		r.Bench = c.bench
		var got []string
		for _, q := range ratios(r) {
			got = append(got, q.Figure+" "+q.Against)
		}
		if !slices.Equal(got, c.expect) {
			t.Errorf("%s: %q, want %q", c.bench, got, c.expect)
		}
	}
}
