package bench_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/bench"
)

func TestTheCommandMeasuresAppliancesWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "boot", "--way", "template,pool,pool_mounted,floor_template")
	want := []string{
		"floor.qemu ms", "template.ready ms", "pool.ready ms", "pool_mounted.ready ms",
		"template.stage.exec ms", "template.stage.restored ms", "template.stage.agent ms", "template.stage.shutdown ms",
		"template.cpu ms",
	}
	passed := 3
	if i := slices.IndexFunc(r.Skipped, func(s bench.Skip) bool { return s.Name == "floor_template.ready" }); i >= 0 {
		if why := r.Skipped[i].Why; !strings.Contains(why, "no gcc") && !strings.Contains(why, "kernel needs modules") {
			t.Errorf("the floor was skipped: %s", why)
		}
		r.Skipped = slices.Delete(r.Skipped, i, i+1)
	} else {
		passed++
		want = slices.Insert(want, 4, "floor_template.ready ms")
		want = append(want, "floor_template.cpu ms", "init.size kB", "floor_init.size kB")
	}
	var got []string
	for _, f := range r.Figures {
		if f.Name != "template.made" { // once, not in rounds
			got = append(got, f.Name+" "+f.Unit)
		}
		if f.Median <= 0 {
			t.Errorf("nothing was measured: %+v", f)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Name != "peer.libguestfs" {
		t.Errorf("skipped %+v, want the peer alone", r.Skipped)
	}
	b := r.Boot
	if b == nil || b.Passes != 2 || b.SMP != 1 || b.Memsize == 0 || b.Machine == "" || b.Version == "" || b.Append == "" || len(b.Results) != passed || len(b.Stages) != 4 {
		t.Errorf("the report does not say what was measured: %+v", b)
	}
}

func TestTheCommandHasAHundredAppliancesAliveAtATime(t *testing.T) {
	t.Parallel()
	most := "100"
	if os.Getenv("TAPROOM_LONG") != "" {
		most = "1000"
	}
	r := report(t, programs(t), "parallel", "--appliances", most, "--images", "0")
	figures := []string{"clones count", "pss MB"}
	alive := fewer(r, most)
	if alive == "" {
		alive, figures = most, append(figures, "pss_mounted MB")
	}
	for _, name := range append(figures, "time."+alive+" s", "launches."+alive+" 1/s", "launch."+alive+" ms") {
		name, unit, _ := strings.Cut(name, " ")
		if f, ok := r.Figure(name); !ok || f.Unit != unit || f.Median <= 0 {
			t.Errorf("%s: %+v, want a figure in %s", name, f, unit)
		}
	}
	if f, _ := r.Figure("clones"); fmt.Sprint(f.Median) != alive {
		t.Errorf("%v were alive at a time, want %s: %v", f.Median, alive, r.Notes)
	}
	if r.Plot == nil || len(r.Plot.Points) != 1 {
		t.Errorf("the plot has %+v, want a point for each step", r.Plot)
	}
}

// fewer is how many appliances the report says there was memory for, "" where there was enough for all: what runs beside the test takes
// some.
func fewer(r *bench.Report, asked string) string {
	for _, s := range r.Skipped {
		n, why, _ := strings.Cut(s.Why, " were ready: ")
		if s.Name == "time."+asked && strings.HasPrefix(why, "no memory for one more appliance") {
			return n
		}
	}
	return ""
}
