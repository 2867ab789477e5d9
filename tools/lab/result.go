package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// test is one, of one package; subtests are tests of their own.
type test struct{ folder, name string }

// outcome is what became of a test on one kernel.
type outcome struct {
	action string // pass, fail, skip
	output string // why it failed or was skipped
}

// results are what became of the tests on one kernel.
type results struct {
	kernel string // "6.12.95+deb12-amd64"
	tests  map[test]outcome
	broken []string // packages that ended otherwise than their tests say: a crash, a time-out, a leak
	took   time.Duration
}

// event is a line of test2json.
type event struct{ Action, Test, Output string }

// read reads the logs that a run left in dir.
func (s suite) read(ctx context.Context, dir, kernel string) (results, error) {
	r := results{kernel: kernel, tests: map[test]outcome{}}
	for _, p := range s.packages {
		log, err := os.ReadFile(filepath.Join(dir, p.binary+".log"))
		if err != nil {
			r.broken = append(r.broken, p.folder+": its tests did not run")
			continue
		}
		c := exec.CommandContext(ctx, "go", "tool", "test2json")
		c.Dir, c.Stdin = s.repo, bytes.NewReader(log)
		events, err := c.Output()
		if err != nil {
			return r, fmt.Errorf("go tool test2json: %w", err)
		}
		failed, cut := r.add(p.folder, events)
		code, err := os.ReadFile(filepath.Join(dir, p.binary+".rc"))
		got := strings.TrimSpace(string(code))
		switch {
		case len(cut) > 0:
			r.broken = append(r.broken, fmt.Sprintf("%s: ended with %q in the middle of %v:\n%s", p.folder, got, cut, tail(string(log), 60)))
		case err != nil || got != "0" && !failed:
			r.broken = append(r.broken, fmt.Sprintf("%s: ended with %q:\n%s", p.folder, got, tail(string(log), 30)))
		}
	}
	return r, nil
}

// add takes the events of one package. It reports whether one of its tests failed, and which did not come to an end.
func (r results) add(folder string, events []byte) (failed bool, cut []string) {
	output := map[string]*strings.Builder{} // of tests that have begun
	lines := bufio.NewScanner(bytes.NewReader(events))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		switch b := output[e.Test]; {
		case e.Action == "run":
			output[e.Test] = &strings.Builder{}
		case b == nil:
		case e.Action == "output" && !strings.HasPrefix(e.Output, "=== ") && !strings.HasPrefix(strings.TrimLeft(e.Output, " "), "--- "):
			b.WriteString(e.Output)
		case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
			o := outcome{action: e.Action}
			if e.Action != "pass" {
				o.output = strings.TrimSpace(b.String())
			}
			r.tests[test{folder, e.Test}] = o
			failed = failed || e.Action == "fail"
			delete(output, e.Test)
		}
	}
	return failed, slices.Sorted(maps.Keys(output))
}

// count returns how many tests ended so.
func (r results) count(action string) int {
	n := 0
	for _, o := range r.tests {
		if o.action == action {
			n++
		}
	}
	return n
}
