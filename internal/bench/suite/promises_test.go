package suite

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/bench"
)

// measured makes a full run on machine A of those parts, with their figures and ratios.
func measured(began string, parts ...Result) *Report {
	at, err := time.Parse(time.DateOnly, began)
	if err != nil {
		panic(err)
	}
	r := &Report{
		Schema: Schema, Machine: Machine{Kernel: "6.18.1-x", CPU: "AMD EPYC", CPUs: 2, KVM: "it is not there"},
		Versions: []Version{{"QEMU", "QEMU emulator version 7.2.22 (Debian)"}}, Parts: parts,
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		p.Began, p.Report.Host.Load = at, 0.25
		p.Report.Figures = nil
		for _, s := range p.Report.Raw {
			p.Report.Figures = append(p.Report.Figures, s.Figure())
		}
		p.Ratios = ratios(p.Report)
	}
	return r
}

// inMS is a figure in ms, measured three times.
func inMS(name string, median float64) bench.Series {
	return bench.Series{Name: name, Unit: "ms", Samples: []float64{median, median, median}}
}

func oneResult(part, benchmark string, all ...bench.Series) Result {
	return Result{Name: part, State: Measured, Report: &bench.Report{Bench: benchmark, Raw: all}}
}

const smallDocument = `# Promises

Machine A: 2 cores of an AMD EPYC (family 26), Linux 6.18, no usable KVM (guests run in
TCG), QEMU 7.2, and more.

| what | promise | measured (machine, date) | peer | how |
| --- | --- | --- | --- | --- |
| own part | ≤ 15 ms | 5.6 ms (A, 2026-11-21, load 1) | | ` + "`taproom bench start`" + `, figure own |
| same time | ≤ 9 ms | 7 ms (as above) | 9 ms | ` + "`TestSomething`" + ` |
| all of it | below | 26.6 ms (A, 2026-11-22, load 1) | 237 ms | ` + "`make bench-peers`" + `, figure total |
| many | ≤ 60 ms | 34 ms (A, 2026-11-21, load 3 to 6) | 694 ms on taps | ` + "`taproom bench many --kind tap` or `macvtap`" + `, figures 82.own and 82.start |
| gone | ≤ 1 s | 1 s (A, 2026-11-21, load 1) | | ` + "`taproom bench readopt`" + ` |
`

// row is the row of that name.
func row(t *testing.T, document, what string) string {
	t.Helper()
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "| "+what+" |") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("no row %q in\n%s", what, document)
	return ""
}

func TestRowsGetTheFiguresOfAReportAndOthersKeepTheirs(t *testing.T) {
	t.Parallel()
	r := measured("2026-12-01",
		oneResult("start", "start", inMS("floor", 20), inMS("total", 25), inMS("own", 5)),
		oneResult("many", "many", inMS("82.own", 30), inMS("82.start", 12345)),
		oneResult("many-macvtap", "many", inMS("82.own", 31.26), inMS("82.start", 130)))
	p, err := Renew(smallDocument, r)
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		"own part":  "| own part | ≤ 15 ms | 5 ms (A, 2026-12-01, load 0.2, 3 repetitions) | | `taproom bench start`, figure own |",
		"same time": "| same time | ≤ 9 ms | 7 ms (A, 2026-11-21, load 1) | 9 ms | `TestSomething` |",
		"all of it": "| all of it | below | 26.6 ms (A, 2026-11-22, load 1) | 237 ms | `make bench-peers`, figure total |",
		"many": "| many | ≤ 60 ms | many: 82.own 30 ms; many: 82.start 12,300 ms; many-macvtap: 82.own 31.3 ms; many-macvtap: 82.start 130 ms" +
			" (A, 2026-12-01, load 0.2, 3 repetitions) | 694 ms on taps (A, 2026-11-21, load 3 to 6) | `taproom bench many --kind tap` or `macvtap`, figures 82.own and 82.start |",
		"gone": row(t, smallDocument, "gone"),
	} {
		if got := row(t, p.Text, what); got != want {
			t.Errorf("row\n%s\nwant\n%s", got, want)
		}
	}
	var kept []string
	for _, k := range p.Kept {
		kept = append(kept, k.What+": "+k.Why)
	}
	want := []string{"same time: it names no figure", "all of it: the report has no peer beside total", "gone: it names no figure"}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	again, err := Renew(p.Text, r)
	if err != nil || again.Text != p.Text {
		t.Errorf("the same report once more: %v\n%s", err, again.Text)
	}
}

func TestARowBesideAPeerGetsThePeerAndTheRatio(t *testing.T) {
	t.Parallel()
	r := measured("2026-12-01", oneResult("start", "start", inMS("floor", 20), inMS("total", 25), inMS("peer.libvirt", 250)))
	p, err := Renew(smallDocument, r)
	if err != nil {
		t.Fatal(err)
	}
	want := "| all of it | below | 25 ms, 0.1 × peer.libvirt [0.1 to 0.1] (A, 2026-12-01, load 0.2, 3 repetitions) | peer.libvirt 250 ms | `make bench-peers`, figure total |"
	if got := row(t, p.Text, "all of it"); got != want {
		t.Errorf("row\n%s\nwant\n%s", got, want)
	}
}

func TestAReportThatSaysLessThanTheDocumentChangesNothing(t *testing.T) {
	t.Parallel()
	start := func() Result { return oneResult("start", "start", inMS("own", 5)) }
	old, err := Renew(smallDocument, measured("2026-11-01", start()))
	if err != nil || old.Text != smallDocument || len(old.Renewed) > 0 {
		t.Errorf("an older report: %v, renewed %q", err, old.Renewed)
	}
	quick := measured("2026-12-01", start())
	quick.Quick = true
	if _, err := Renew(smallDocument, quick); err == nil || !strings.Contains(err.Error(), "--quick") {
		t.Errorf("a quick run: %v", err)
	}
	if _, err := Renew("# Nothing\n", measured("2026-12-01", start())); err == nil {
		t.Error("a document without promises is taken")
	}
}

func TestAnotherMachineIsDescribedAfterTheOthers(t *testing.T) {
	t.Parallel()
	r := measured("2026-12-01", oneResult("start", "start", inMS("own", 5)))
	r.Machine = Machine{Kernel: "6.12.9", CPU: "Intel Xeon", CPUs: 8, KVM: "usable"}
	for range 2 { // the second time it is known
		p, err := Renew(smallDocument, r)
		if err != nil {
			t.Fatal(err)
		}
		if want := "and more.\n\nMachine B: 8 cores of Intel Xeon, Linux 6.12, KVM, QEMU 7.2.\n\n| what"; !strings.Contains(p.Text, want) {
			t.Errorf("no %q in\n%s", want, p.Text)
		}
		again, err := Renew(p.Text, r)
		if err != nil || again.Text != p.Text || !strings.Contains(row(t, p.Text, "own part"), "(B, 2026-12-01") {
			t.Errorf("once more: %v\n%s", err, again.Text)
		}
	}
}

// The recorded rounds are those of testdata/recorded.json.
func TestARecordedReportIsTakenIntoTheRepositorysPromises(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../PROMISES.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(b)
	r := recordedReport(recorded(t)[0], true)
	p, err := Renew(document, measured("2099-01-01", r.Parts...))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Renewed) != 1 || !strings.Contains(p.Renewed[0], "`taproom bench start`, figure own") {
		t.Errorf("renewed %q, want the row of own alone: nothing is recorded with a peer", p.Renewed)
	}
	oldLines, newLines := strings.Split(document, "\n"), strings.Split(p.Text, "\n")
	if len(oldLines) != len(newLines) {
		t.Fatalf("%d lines became %d", len(oldLines), len(newLines))
	}
	changed := 0
	for i := range oldLines {
		if oldLines[i] != newLines[i] {
			changed++
			if !slices.Contains(p.Renewed, newLines[i]) {
				t.Errorf("changed though not renewed:\n%s\n%s", oldLines[i], newLines[i])
			}
		}
	}
	if changed != 1 {
		t.Errorf("%d lines changed, want 1", changed)
	}
}

// What a row says of the promise, and what holds it, are a person's words and stay.
func TestEveryRowThatNamesFiguresCanBeRenewedAndKeepsItsPromiseAndItsCommand(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../PROMISES.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*bench.Report{}
	named := 0
	for line := range strings.Lines(string(b)) {
		c, ok := cells(strings.TrimSpace(line))
		if !ok || !strings.Contains(c[howCell], "figure") || strings.Contains(c[howCell], "make bench-peers") {
			continue
		}
		name := benchNames.FindStringSubmatch(c[howCell])
		figures := figureNames.FindStringSubmatch(c[howCell])
		if name == nil || figures == nil {
			t.Errorf("the names of the benchmark and of its figures are not found in: %s", c[howCell])
			continue
		}
		named++
		if all[name[1]] == nil {
			all[name[1]] = &bench.Report{Bench: name[1]}
		}
		for _, f := range strings.Fields(strings.NewReplacer(",", " ", " and ", " ").Replace(figures[1])) {
			for _, s := range []string{f, "peer.libvirt." + f} {
				if !slices.ContainsFunc(all[name[1]].Raw, func(x bench.Series) bool { return x.Name == s }) {
					all[name[1]].Raw = append(all[name[1]].Raw, inMS(s, 3))
				}
			}
		}
	}
	var parts []Result
	for name, r := range all {
		parts = append(parts, Result{Name: name, State: Measured, Report: r})
	}
	p, err := Renew(string(b), measured("2099-01-01", parts...))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Renewed) < named {
		t.Errorf("%d rows renewed of %d; kept %q", len(p.Renewed), named, p.Kept)
	}
	oldLines, newLines := strings.Split(string(b), "\n"), strings.Split(p.Text, "\n")
	for i := range oldLines {
		was, ok := cells(oldLines[i])
		if !ok {
			continue
		}
		if is, ok := cells(newLines[i]); !ok || is[whatCell] != was[whatCell] || is[promiseCell] != was[promiseCell] || is[howCell] != was[howCell] {
			t.Errorf("a row became another:\n%s\n%s", oldLines[i], newLines[i])
		}
	}
}
