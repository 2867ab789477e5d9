package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json` (go doc cmd/test2json).
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string  // of a build's output and failure
	FailedBuild string  // import path whose build failed, in a package's failure
	Elapsed     float64 // seconds
}

// testID is a root test: a subtest counts as its root, which is the smallest unit that can run alone.
type testID struct{ Package, Test string }

func (id testID) String() string { return id.Package + " " + id.Test }

// failure is a root test that failed, with the first line that it or its failed subtest printed.
type failure struct {
	testID
	Line string
}

// report is the sum of the events of a run of go test.
type report struct {
	Failed   []failure                // by package and name
	Broken   []string                 // failures that are not a test's: of a build, a panic, a data race, a leak; each names its package
	Passed   map[testID]int           // how many times
	Tests    map[testID]time.Duration // the longest of each
	Packages map[string]time.Duration
}

// readReport sums up a stream of events. Lines that are no event are an error: something else wrote to the stream.
func readReport(r io.Reader) (*report, error) {
	c := &collector{
		report:  report{Passed: map[testID]int{}, Tests: map[testID]time.Duration{}, Packages: map[string]time.Duration{}},
		running: map[testID]bool{}, lines: map[testID]map[string][]string{}, pkgs: map[string]*pkgState{}, builds: map[string]string{},
	}
	if err := eachEvent(r, c.add); err != nil {
		return nil, err
	}
	return c.sum(), nil
}

// eachEvent calls visit for every event of a stream.
func eachEvent(r io.Reader, visit func(event)) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if bad := json.Unmarshal(line, &e); bad != nil {
				return fmt.Errorf("read the events of go test: %q is no event: %w", strings.TrimSpace(string(line)), bad)
			}
			visit(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

// collector holds the state of tests that have not ended.
type collector struct {
	report
	running map[testID]bool
	lines   map[testID]map[string][]string // root test → full name → lines
	pkgs    map[string]*pkgState
	builds  map[string]string // import path → first line of the compiler's output
}

// pkgState is the part of a package's output that belongs to no test, and signs of a crash in all of its output.
type pkgState struct {
	last  string // line
	crash string // first line of a panic, a fatal error or a data race
}

// crashes are beginnings of lines that the runtime, the race detector and go test print when a test binary dies or races.
var crashes = []string{"panic: ", "fatal error: ", "WARNING: DATA RACE", "SIGSEGV: "}

func (c *collector) pkg(name string) *pkgState {
	if c.pkgs[name] == nil {
		c.pkgs[name] = &pkgState{}
	}
	return c.pkgs[name]
}

func (c *collector) add(e event) {
	root, _, sub := strings.Cut(e.Test, "/")
	id := testID{e.Package, root}
	switch e.Action {
	case "build-output":
		if line := strings.TrimSpace(e.Output); c.builds[e.ImportPath] == "" && !strings.HasPrefix(line, "#") {
			c.builds[e.ImportPath] = line
		}
	case "run":
		if !sub {
			c.running[id] = true
		}
	case "output":
		c.output(id, e)
	case "pass", "fail", "skip":
		switch {
		case e.Test == "":
			c.endPackage(e)
		case !sub:
			c.endTest(id, e)
		case e.Action != "fail": // its output explains no failure
			delete(c.lines[id], e.Test)
		}
	}
}

// output keeps the lines that can be the first line of a failure.
func (c *collector) output(id testID, e event) {
	line := strings.TrimRight(e.Output, "\n")
	if slices.ContainsFunc(crashes, func(s string) bool { return strings.HasPrefix(line, s) }) && c.pkg(e.Package).crash == "" {
		c.pkg(e.Package).crash = line
	}
	text := strings.TrimSpace(line)
	if text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
		return
	}
	if e.Test == "" {
		if text != "FAIL" && text != "PASS" && !strings.HasPrefix(text, "FAIL\t") && !strings.HasPrefix(text, "exit status") {
			c.pkg(e.Package).last = text
		}
		return
	}
	if c.lines[id] == nil {
		c.lines[id] = map[string][]string{}
	}
	if len(c.lines[id][e.Test]) < 200 { // a failure's first line stands at the beginning
		c.lines[id][e.Test] = append(c.lines[id][e.Test], text)
	}
}

func (c *collector) endTest(id testID, e event) {
	delete(c.running, id)
	c.Tests[id] = max(c.Tests[id], seconds(e.Elapsed))
	switch e.Action {
	case "pass":
		c.Passed[id]++
	case "fail":
		c.Failed = append(c.Failed, failure{id, firstLine(c.lines[id])})
	}
	delete(c.lines, id)
}

// firstLine is the first line with a position in a Go file that the deepest test printed, or its first line at all.
func firstLine(byName map[string][]string) string {
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(a, b))
	})
	fallback := "it printed nothing"
	for i := len(names) - 1; i >= 0; i-- {
		fallback = byName[names[i]][0]
	}
	for _, name := range names {
		for _, line := range byName[name] {
			if strings.Contains(line, ".go:") {
				return line
			}
		}
	}
	return fallback
}

// endPackage finds the failures that are no test's.
func (c *collector) endPackage(e event) {
	c.Packages[e.Package] = seconds(e.Elapsed)
	if e.Action != "fail" {
		return
	}
	state := c.pkg(e.Package)
	ended := slices.ContainsFunc(c.Failed, func(f failure) bool { return f.Package == e.Package })
	var unfinished []string
	for id := range c.running {
		if id.Package == e.Package {
			unfinished = append(unfinished, id.Test)
			delete(c.running, id)
		}
	}
	slices.Sort(unfinished)
	switch {
	case e.FailedBuild != "":
		c.Broken = append(c.Broken, fmt.Sprintf("%s: build failed: %s", e.Package, cmp.Or(c.builds[e.FailedBuild], e.FailedBuild)))
	case state.crash != "":
		c.Broken = append(c.Broken, fmt.Sprintf("%s: %s", e.Package, state.crash))
	case len(unfinished) > 0:
		c.Broken = append(c.Broken, fmt.Sprintf("%s: the test binary ended during %s: %s", e.Package, strings.Join(unfinished, ", "), state.last))
	case !ended: // for example TestMain reported leaked goroutines
		c.Broken = append(c.Broken, fmt.Sprintf("%s: failed without a failed test: %s", e.Package, cmp.Or(state.last, "it printed nothing")))
	}
}

func (c *collector) sum() *report {
	for id := range c.running { // go test itself was ended
		c.Broken = append(c.Broken, fmt.Sprintf("%s: %s has not ended", id.Package, id.Test))
	}
	slices.Sort(c.Broken)
	slices.SortFunc(c.Failed, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Test, b.Test))
	})
	return &c.report
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
