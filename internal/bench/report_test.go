package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAFigureIsTheMedianOfItsSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		samples []float64
		want    Figure
	}{
		{[]float64{7}, Figure{"own", "ms", 7, 7, 7, 1}},
		{[]float64{9, 1, 5}, Figure{"own", "ms", 5, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, Figure{"own", "ms", 3, 1, 9, 4}},
		{[]float64{-2, 4}, Figure{"own", "ms", 1, -2, 4, 2}}, // our share of a start that was faster than its floor
	} {
		samples := append([]float64(nil), c.samples...)
		if got := (Series{"own", "ms", c.samples}).Figure(); got != c.want {
			t.Errorf("figure of %v: %+v, want %+v", c.samples, got, c.want)
		}
		if d := cmp.Diff(samples, c.samples); d != "" {
			t.Errorf("the samples lost their order, which pairs them with the other side's: %s", d)
		}
	}
}

func TestTheReportsJSONIsTheDocumentedForm(t *testing.T) {
	t.Parallel()
	r := Report{Bench: "start", Host: Host{Kernel: "6.1", CPU: "x", CPUs: 2, Load: 0.25, QEMU: "7.2", Version: "v1"}, Figures: []Figure{}, Skipped: []Skip{}}
	const head = `{"bench":"start","host":{"kernel":"6.1","cpu":"x","cpus":2,"load":0.25,"qemu":"7.2","taproom":"v1"},`
	check := func(want string) {
		t.Helper()
		got, err := json.Marshal(r)
		if err != nil || string(got) != head+want {
			t.Errorf("%v, got\n%s, want\n%s", err, got, head+want)
		}
	}
	check(`"figures":[],"skipped":[]}`)
	r.add([]Series{{"total", "ms", []float64{2, 1, 3}}, {"base.total", "ms", []float64{1, 1, 1}}}, Skip{"peer.libvirt", "not installed"})
	check(`"figures":[{"name":"total","unit":"ms","median":2,"min":1,"max":3,"n":3},` +
		`{"name":"base.total","unit":"ms","median":1,"min":1,"max":1,"n":3}],` +
		`"skipped":[{"name":"peer.libvirt","why":"not installed"}],` +
		`"raw":[{"name":"total","unit":"ms","samples":[2,1,3]},{"name":"base.total","unit":"ms","samples":[1,1,1]}],` +
		`"compare":[{"name":"total","ratio":2,"p":` + number(t, r.Compare[0].P) + `}]}`)
}

func number(t *testing.T, v float64) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheTextNamesTheMachineEveryFigureAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := Report{
		Bench: "api", Host: Host{Kernel: "6.1", CPU: "x", CPUs: 2, Load: 1.5, QEMU: "7.2"},
		Figures: []Figure{{"info", "1/s", 13042.7, 9.87654, 123456, 20}},
		Skipped: []Skip{{"peer.libvirt", "not installed"}},
		Compare: []Comparison{{"info", 0.5, 0.00012}, {"list", 1.5, 0.002}, {"rss", 1.01, 0.3}},
	}
	want := `api on 6.1, 2 × x, load 1.5, QEMU 7.2
  figure   min  median     max  unit   n
    info  9.88   13043  123456   1/s  20
info: 0.50 of the other build's, less (p = 0.00012)
list: 1.50 of the other build's, more (p = 0.002)
rss: 1.01 of the other build's, no difference (p = 0.3)
not measured: peer.libvirt: not installed
`
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
}

func TestAFigureIsFoundByItsName(t *testing.T) {
	t.Parallel()
	r := Report{Figures: []Figure{{Name: "floor", Median: 1}, {Name: "own", Median: 2}}}
	if f, ok := r.Figure("own"); !ok || f.Median != 2 {
		t.Errorf("own: %+v, %v", f, ok)
	}
	if f, ok := r.Figure("peer.libvirt"); ok {
		t.Errorf("a figure that was not taken: %+v", f)
	}
}
