package suite

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"taproom/internal/bench"
)

// recorded are six runs of `taproom bench start` and `taproom bench api --domains 20`, 20 rounds each, with --base, which was the
// same build. They were taken while the machine's 2 processors had 10 to 35 processes to run, so that single rounds differ by a factor of
// three: nothing is measured under worse conditions.
func recorded(t *testing.T) []map[string][]bench.Series {
	t.Helper()
	b, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var runs []map[string][]bench.Series
	if err := json.Unmarshal(b, &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}

// recordedReport is one of those runs, without the base's figures where the build is looked at alone.
func recordedReport(run map[string][]bench.Series, alone bool) *Report {
	r := &Report{Schema: Schema}
	for _, name := range []string{"start", "api"} {
		series := slices.Clone(run[name])
		if alone {
			series = slices.DeleteFunc(series, func(s bench.Series) bool { return roleOf(s.Name) == roleBase })
		}
		r.Parts = append(r.Parts, Result{Name: name, Command: name, State: Measured, Report: &bench.Report{Bench: name, Raw: series}})
	}
	return r
}

// slowed is a report as it had been, had the new build taken 20 % longer for everything.
func slowed(r *Report) *Report {
	out := *r
	out.Parts = slices.Clone(r.Parts)
	for i := range out.Parts {
		report := *out.Parts[i].Report
		report.Raw = slices.Clone(report.Raw)
		for k, s := range report.Raw {
			if roleOf(s.Name) != roleOwn {
				continue
			}
			by := 1.2
			if moreIsBetter(s.Name, s.Unit) {
				by = 1 / 1.2
			}
			s.Samples = slices.Clone(s.Samples)
			for j := range s.Samples {
				s.Samples[j] *= by
			}
			report.Raw[k] = s
		}
		out.Parts[i].Report = &report
	}
	return &out
}

// called are the figures that are said to have changed.
func called(c *Comparison, o Outcome) string {
	var out []string
	for _, ch := range c.Changes {
		if ch.Outcome == o {
			out = append(out, ch.Figure)
		}
	}
	return strings.Join(out, " ")
}

func TestTwoRecordedRunsOfOneBuildAreNeverCalledDifferent(t *testing.T) {
	t.Parallel()
	runs := recorded(t)
	compared := 0
	check := func(how string, c *Comparison) {
		compared++
		if worse, better := called(c, Worse), called(c, Better); worse+better != "" {
			t.Errorf("%s: worse %q, better %q", how, worse, better)
		}
	}
	for _, run := range runs {
		r := recordedReport(run, false)
		check("by turns", ByTurns(r, "old", "new"))
	}
	for i := range runs {
		for j := range runs {
			if i != j { // only figures with a floor: the load was another in each run
				a, b := recordedReport(runs[i], true), recordedReport(runs[j], true)
				a.Parts, b.Parts = a.Parts[:1], b.Parts[:1]
				check("apart", Compare(a, b))
			}
		}
	}
	if compared < 10 {
		t.Errorf("%d comparisons", compared)
	}
}

// drawn are n rounds of all recorded ones, all of the same round together.
func drawn(runs []map[string][]bench.Series, n int, seed uint64) map[string][]bench.Series {
	out := map[string][]bench.Series{}
	for part, series := range runs[0] {
		order := rand.New(rand.NewPCG(seed, 1)).Perm(20 * len(runs))[:n]
		for i, s := range series {
			all := bench.Series{Name: s.Name, Unit: s.Unit}
			for _, at := range order {
				all.Samples = append(all.Samples, runs[at/20][part][i].Samples[at%20])
			}
			out[part] = append(out[part], all)
		}
	}
	return out
}

func TestASlowerBuildIsFoundInRecordedRoundsTenTimesOutOfTen(t *testing.T) {
	t.Parallel()
	runs := recorded(t)
	for seed := range uint64(10) {
		r := recordedReport(drawn(runs, 110, seed), false)
		same := ByTurns(r, "old", "new")
		if worse, better := called(same, Worse), called(same, Better); worse+better != "" {
			t.Errorf("draw %d of one build: worse %q, better %q", seed, worse, better)
		}
		if got := called(ByTurns(slowed(r), "old", "new"), Worse); !strings.Contains(got, "total") || !strings.Contains(got, "rss.20") {
			t.Errorf("draw %d of a build that is slowed by 20 %%: worse are %q, want total and rss.20 among them", seed, got)
		}
	}
}

// On a machine at rest a start scatters by 8 %, its load changes from run to run, and 20 rounds are enough.
func TestASlowerBuildIsFoundOnAMachineAtRestTenTimesOutOfTen(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, load float64) *Report {
		r := rand.New(rand.NewPCG(seed, 2))
		sample := func(v float64) []float64 {
			out := make([]float64, 20)
			for i := range out {
				out[i] = v * load * math.Exp(0.08*r.NormFloat64())
			}
			return out
		}
		var series []bench.Series
		for _, name := range []string{"floor", "total", "base.total"} {
			series = append(series, bench.Series{Name: name, Unit: "ms", Samples: sample(25)})
		}
		return reportOf("start", series...)
	}
	for seed := range uint64(10) {
		a, b := run(seed, 1), run(seed+100, 1.3)
		for how, c := range map[string][2]*Comparison{
			"apart":    {Compare(a, b), Compare(a, slowed(b))},
			"by turns": {ByTurns(b, "", ""), ByTurns(slowed(b), "", "")},
		} {
			if got := called(c[0], Worse) + called(c[0], Better); got != "" {
				t.Errorf("%s, run %d: one build is called different: %s", how, seed, got)
			}
			if got := called(c[1], Worse); got != "total" {
				t.Errorf("%s, run %d: worse is %q, want total", how, seed, got)
			}
		}
	}
}
