package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// testLane is one run of the gate's tests.
type testLane struct {
	repo      string
	gotestsum string // its binary
	out       string // folder for the events of each run of go test
	timeout   time.Duration
	w         io.Writer
	must      map[string]bool
	reports   []*report
}

func runTest(ctx context.Context, w io.Writer, args []string) error {
	l := &testLane{w: w}
	f := flag.NewFlagSet("lane test", flag.ContinueOnError)
	f.StringVar(&l.repo, "repo", ".", "root of the repository")
	f.StringVar(&l.gotestsum, "gotestsum", "gotestsum", "binary that runs and shows the tests")
	f.StringVar(&l.out, "out", "", "folder for the events of go test (default build/tests below the repository)")
	f.DurationVar(&l.timeout, "timeout", 20*time.Minute, "limit of one package")
	if err := f.Parse(args); err != nil {
		return err
	}
	if l.out == "" {
		l.out = filepath.Join(l.repo, "build/tests")
	}
	patterns := f.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	began := time.Now()
	err := l.run(ctx, patterns)
	printSlowest(w, 10, l.reports...)
	fmt.Fprintf(w, "=== tests: %.0f s\n", time.Since(began).Seconds())
	return err
}

// run runs the packages that may run beside each other, then the others one after another, then failed tests again.
func (l *testLane) run(ctx context.Context, patterns []string) error {
	module, packages, err := goList(ctx, l.repo, patterns)
	if err != nil {
		return err
	}
	machines, err := readList(l.repo, machinesFile, module)
	if err != nil {
		return err
	}
	if l.must, err = readList(l.repo, mustFile, module); err != nil {
		return err
	}
	if err := os.MkdirAll(l.out, 0o755); err != nil {
		return err
	}
	beside, alone := split(packages, machines)
	whole := &report{}
	for _, group := range []struct {
		name     string
		packages []string
		parallel int
	}{
		{"beside", beside, runtime.NumCPU()},
		{"alone", alone, 1},
	} {
		if len(group.packages) == 0 {
			continue
		}
		r, err := l.first(ctx, group.name, group.packages, group.parallel)
		if err != nil {
			return err
		}
		whole.Failed = append(whole.Failed, r.Failed...)
		whole.Broken = append(whole.Broken, r.Broken...)
	}
	return l.again(ctx, whole)
}

// first runs packages for the first time.
func (l *testLane) first(ctx context.Context, name string, packages []string, parallel int) (*report, error) {
	events := filepath.Join(l.out, name+".json")
	args := []string{"--format", "pkgname", "--jsonfile", events, "--", "-timeout", l.timeout.String(), "-p", strconv.Itoa(parallel)}
	c := l.command(ctx, l.gotestsum, append(args, packages...)...)
	c.Stdout, c.Stderr = l.w, os.Stderr
	failed := c.Run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stream, err := os.Open(events)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	defer stream.Close()
	r, err := readReport(stream)
	if err != nil {
		return nil, err
	}
	if failed != nil && len(r.Failed) == 0 && len(r.Broken) == 0 {
		return nil, fmt.Errorf("%s of %s: %w, and no event says why", l.gotestsum, name, failed)
	}
	l.reports = append(l.reports, r)
	return r, nil
}

// again runs failed tests alone and twice where judge allows it.
func (l *testLane) again(ctx context.Context, r *report) error {
	rerun, refused := judge(r, l.must)
	for _, f := range rerun {
		fmt.Fprintf(l.w, "=== again, alone and twice: %s\n", f.testID)
		err := l.twice(ctx, f.testID)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			refused = append(refused, fmt.Sprintf("%s: %s; then, alone: %v", f.testID, f.Line, err))
			continue
		}
		fmt.Fprintf(l.w, "FLAKE %s: %s\n", f.testID, f.Line)
	}
	for _, line := range refused {
		fmt.Fprintf(l.w, "FAILED %s\n", line)
	}
	if len(refused) > 0 {
		return errFailed
	}
	return nil
}

// twice runs one test two times and reports an error unless it passes in both.
func (l *testLane) twice(ctx context.Context, id testID) error {
	c := l.command(ctx, "go", "test", "-json", "-count=2", "-timeout", l.timeout.String(), "-run", "^"+regexp.QuoteMeta(id.Test)+"$", id.Package)
	var events bytes.Buffer
	c.Stdout, c.Stderr = &events, os.Stderr
	failed := c.Run()
	r, err := readReport(bytes.NewReader(events.Bytes()))
	if err != nil {
		return errors.Join(failed, err)
	}
	if err = confirmed(id, r); err == nil {
		err = failed
	}
	if err != nil {
		return errors.Join(err, printOutput(l.w, &events))
	}
	return nil
}

// command is a child that gets an interrupt, and a moment to clean up, when ctx ends.
func (l *testLane) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = l.repo
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = 30 * time.Second
	return c
}

// printOutput prints the output in a stream of events as go test does without -json.
func printOutput(w io.Writer, events io.Reader) error {
	return eachEvent(events, func(e event) {
		if e.Action == "output" || e.Action == "build-output" {
			_, _ = io.WriteString(w, e.Output)
		}
	})
}
