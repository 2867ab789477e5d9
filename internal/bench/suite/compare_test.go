package suite

import (
	"strings"
	"testing"

	"taproom/internal/bench"
)

// rounds are n samples around v that differ by a few percent, always in the same way.
func rounds(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v * (1 + 0.04*float64(i*7%10-5)/10)
	}
	return out
}

// reportOf has one part with those figures, in the order they are given.
func reportOf(name string, raw ...bench.Series) *Report {
	r := &bench.Report{Bench: name, Raw: raw}
	return &Report{Schema: Schema, Parts: []Result{{Name: name, Command: "taproom bench " + name, State: Measured, Report: r}}}
}

func outcomes(c *Comparison) map[string]Outcome {
	out := map[string]Outcome{}
	for _, ch := range c.Changes {
		out[ch.Figure] = ch.Outcome
	}
	return out
}

func TestWhatChangedIsWorseOrBetterByItsUnit(t *testing.T) {
	t.Parallel()
	old := reportOf("api", bench.Series{Name: "list", Unit: "us", Samples: rounds(20, 100)}, bench.Series{Name: "info", Unit: "1/s", Samples: rounds(20, 5000)},
		bench.Series{Name: "rss", Unit: "MB", Samples: rounds(20, 20)}, bench.Series{Name: "restart", Unit: "ms", Samples: rounds(20, 17)},
		bench.Series{Name: "once", Unit: "ms", Samples: rounds(1, 17)}, bench.Series{Name: "stage.parse", Unit: "ms", Samples: rounds(20, 1)})
	now := reportOf("api", bench.Series{Name: "list", Unit: "us", Samples: rounds(20, 125)}, bench.Series{Name: "info", Unit: "1/s", Samples: rounds(20, 4000)},
		bench.Series{Name: "rss", Unit: "MB", Samples: rounds(20, 15)}, bench.Series{Name: "restart", Unit: "ms", Samples: rounds(20, 18)},
		bench.Series{Name: "once", Unit: "ms", Samples: rounds(1, 99)}, bench.Series{Name: "stage.parse", Unit: "ms", Samples: rounds(20, 9)})
	c := Compare(old, now)
	got := outcomes(c)
	for name, want := range map[string]Outcome{"list": Worse, "info": Worse, "rss": Better, "restart": Same, "once": Short} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if _, ok := got["stage.parse"]; ok || len(got) != 5 {
		t.Errorf("%v: a stage is judged by itself", got)
	}
	var text strings.Builder
	if err := c.WriteText(&text); err != nil || !strings.Contains(text.String(), "2 worse, 1 better, 1 the same within 10 %, 0 too uncertain to tell, 1 with too few") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if strings.Index(text.String(), "worse") > strings.Index(text.String(), "better") {
		t.Errorf("what is worse does not come first:\n%s", text.String())
	}
}

func TestABusierMachineIsNotASlowerBuild(t *testing.T) {
	t.Parallel()
	at := func(load, build float64) *Report {
		return reportOf("start", bench.Series{Name: "floor", Unit: "ms", Samples: rounds(20, 20*load)}, bench.Series{Name: "total", Unit: "ms", Samples: rounds(20, 26*load*build)})
	}
	if c := Compare(at(1, 1), at(1.8, 1)); c.Changes[0].Outcome != Same || c.Changes[0].Against != "floor" {
		t.Errorf("the same build on a busier machine: %+v", c.Changes[0])
	}
	if c := Compare(at(1.8, 1), at(1, 1.2)); c.Changes[0].Outcome != Worse {
		t.Errorf("a slower build on a machine that rests: %+v", c.Changes[0])
	}
}

func TestWhatCannotBeComparedIsNoted(t *testing.T) {
	t.Parallel()
	a, b := reportOf("start", bench.Series{Name: "total", Unit: "ms", Samples: rounds(20, 1)}), reportOf("start")
	b.Parts[0].Command += " --rounds 5"
	b.Machine.Kernel = "6.1"
	a.Parts = append(a.Parts, Result{Name: "api", State: Measured, Report: &bench.Report{}})
	b.Parts = append(b.Parts, Result{Name: "api", State: Missing})
	notes := strings.Join(Compare(a, b).Notes, "\n")
	for _, want := range []string{"the machines differ", "start was measured with other sizes", "api was measured in the old report alone"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
}

func TestTwoBuildsByTurnsAreComparedByTheirPairs(t *testing.T) {
	t.Parallel()
	// The load doubles in the middle: apart, the samples say nothing, by pairs everything.
	load := func(v float64) []float64 {
		out := rounds(20, v)
		for i := 10; i < 20; i++ {
			out[i] *= 2
		}
		return out
	}
	r := reportOf("start", bench.Series{Name: "base.total", Unit: "ms", Samples: load(10)}, bench.Series{Name: "total", Unit: "ms", Samples: load(12)},
		bench.Series{Name: "base.own", Unit: "ms", Samples: load(5)}, bench.Series{Name: "own", Unit: "ms", Samples: load(5)},
		bench.Series{Name: "base.few", Unit: "ms", Samples: rounds(5, 5)}, bench.Series{Name: "few", Unit: "ms", Samples: rounds(5, 50)},
		bench.Series{Name: "base.negative", Unit: "ms", Samples: rounds(20, -1)}, bench.Series{Name: "negative", Unit: "ms", Samples: rounds(20, -2)})
	r.Parts = append(r.Parts, Result{Name: "api", State: Missing, Why: "no taproomd"})
	c := ByTurns(r, "old", "new")
	got := outcomes(c)
	for name, want := range map[string]Outcome{"total": Worse, "own": Same, "few": Short, "negative": Short} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if len(c.Worse()) != 1 || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "no taproomd") {
		t.Errorf("%+v", c)
	}
}
