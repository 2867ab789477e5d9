package bench_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommandMeasuresFiltersWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "filter", "--filtered", "1,3")
	want := []string{
		"floor.attach.1 ms", "attach.1 ms", "attach.1.more ms", "attach.1.compile ms", "attach.1.transactions each",
		"floor.attach.3 ms", "attach.3 ms", "attach.3.more ms", "attach.3.compile ms", "attach.3.transactions each",
		"floor.redefine.3 ms", "redefine.3 ms", "redefine.3.compile ms", "redefine.3.transactions each",
		"floor.packet ns", "packet.1 ns", "packet.3 ns", "packet.1.rules each", "packet.3.rules each",
		"packet.more %", "packet.more.low %", "packet.more.high %",
	}
	var names []string
	for _, f := range r.Figures {
		names = append(names, f.Name+" "+f.Unit)
		if f.Unit != "%" && f.Min <= 0 {
			t.Errorf("nothing was measured: %+v", f)
		}
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
	for name, v := range map[string]float64{"attach.1.transactions": 1, "attach.3.transactions": 1, "redefine.3.transactions": 2} {
		if f, _ := r.Figure(name); f.Min != v || f.Max != v {
			t.Errorf("%s: %v to %v; want %v: what no frame meets yet is made by a transaction before that of all NICs", name, f.Min, f.Max, v)
		}
	}
	one, _ := r.Figure("packet.1.rules")
	if many, _ := r.Figure("packet.3.rules"); many.Min != one.Min || many.Max != one.Max || one.Min != one.Max {
		t.Errorf("a frame met %v to %v rules with one NIC, %v to %v with three", one.Min, one.Max, many.Min, many.Max)
	}
	if len(r.Notes) != 3 || !strings.Contains(r.Notes[2], "2 pairs are too few") {
		t.Errorf("notes %q, want one for each size, and one of so few pairs", r.Notes)
	}
}

func TestTheCommandExplainsHowManyNICsItCannotFilter(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"0", "1,20001"} {
		_, said, code := taproom(t, programs(t), "bench", "filter", "--filtered", n)
		if want := "--filtered [" + strings.ReplaceAll(n, ",", " ") + "]"; code != 2 || !strings.Contains(said, want) {
			t.Errorf("exit code %d, said %q; want 2 and %q", code, said, want)
		}
	}
}
