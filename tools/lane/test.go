package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// testLane is a run of the gate's tests.
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

// run runs the packages with machines in sequence and the others in parallel with them, then failed tests again.
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
	whole, err := l.first(ctx, split(packages, machines))
	if err != nil {
		return err
	}
	return l.again(ctx, whole)
}

// first runs the groups of packages in parallel.
func (l *testLane) first(ctx context.Context, groups []group) (*report, error) {
	w := &lines{w: l.w}
	reports, errs := make([]*report, len(groups)), make([]error, len(groups))
	var running sync.WaitGroup
	for i, g := range groups {
		running.Go(func() { reports[i], errs[i] = l.runGroup(ctx, w.writer(), g) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	whole := &report{}
	for _, r := range reports {
		whole.Failed = append(whole.Failed, r.Failed...)
		whole.Broken = append(whole.Broken, r.Broken...)
	}
	l.reports = reports
	return whole, nil
}

// runGroup runs a group of packages with gotestsum.
func (l *testLane) runGroup(ctx context.Context, w io.WriteCloser, g group) (*report, error) {
	defer w.Close()
	events := filepath.Join(l.out, g.name+".json")
	args := []string{"--format", "pkgname", "--jsonfile", events, "--", "-timeout", l.timeout.String(), "-p", strconv.Itoa(g.parallel)}
	c := command(ctx, l.repo, l.gotestsum, append(args, g.packages...)...)
	c.Stdout, c.Stderr = w, w
	failed := runAll(c)
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
		return nil, fmt.Errorf("%s of the packages %s: %w, and no event says why", l.gotestsum, g.name, failed)
	}
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

// twice runs a test two times and reports an error unless it passes in both.
func (l *testLane) twice(ctx context.Context, id testID) error {
	c := command(ctx, l.repo, "go", "test", "-json", "-count=2", "-timeout", l.timeout.String(), "-run", "^"+regexp.QuoteMeta(id.Test)+"$", id.Package)
	var events bytes.Buffer
	c.Stdout, c.Stderr = &events, os.Stderr
	failed := runAll(c)
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

// printOutput prints the output in a stream of events as go test does without -json.
func printOutput(w io.Writer, events io.Reader) error {
	return eachEvent(events, func(e event) {
		if e.Action == "output" || e.Action == "build-output" {
			_, _ = io.WriteString(w, e.Output)
		}
	})
}
