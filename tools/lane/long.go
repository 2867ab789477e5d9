package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a target of the Makefile and the time that it takes on two cores.
type target struct {
	name  string
	takes time.Duration
}

// longLane runs targets in sequence.
type longLane struct {
	repo   string
	budget time.Duration // 0: none
	w      io.Writer
	began  time.Time
}

func runLong(ctx context.Context, w io.Writer, args []string) error {
	l := &longLane{w: w, began: time.Now()}
	f := flag.NewFlagSet("lane long", flag.ContinueOnError)
	f.StringVar(&l.repo, "repo", ".", "root of the repository")
	f.DurationVar(&l.budget, "budget", 0, "begin no target that does not end within it, and end those that do not (default: no limit)")
	commit := f.String("rotate", "", "commit by which the order of the targets rotates")
	if err := f.Parse(args); err != nil {
		return err
	}
	targets, err := parseTargets(f.Args())
	if err != nil {
		return err
	}
	return l.run(ctx, rotate(targets, *commit))
}

// parseTargets parses TARGET:MINUTES.
func parseTargets(args []string) ([]target, error) {
	var targets []target
	for _, a := range args {
		name, minutes, ok := strings.Cut(a, ":")
		m, err := strconv.Atoi(minutes)
		if name == "" || !ok || err != nil || m < 1 {
			return nil, fmt.Errorf("invalid target %q: it is TARGET:MINUTES, such as nics:8", a)
		}
		targets = append(targets, target{name, time.Duration(m) * time.Minute})
	}
	if len(targets) == 0 {
		return nil, errors.New("no target is named")
	}
	return targets, nil
}

// rotate lets another target be the first with each commit, so that each is reached sooner or later. A commit that is not hexadecimal
// leaves the order.
func rotate(targets []target, commit string) []target {
	n, err := strconv.ParseUint(commit[:min(8, len(commit))], 16, 64)
	if err != nil {
		return targets
	}
	k := int(n % uint64(len(targets)))
	return slices.Concat(targets[k:], targets[:k])
}

// run runs the targets and prints the result of each, and all results as the last lines. An error says that it was interrupted.
func (l *longLane) run(ctx context.Context, targets []target) error {
	var summary []string
	say := func(t target, result string) {
		line := fmt.Sprintf("LONG %s %s", t.name, result)
		fmt.Fprintln(l.w, line)
		summary = append(summary, line)
	}
	for _, t := range targets {
		if l.budget > 0 && l.left() < t.takes {
			say(t, "not reached")
			continue
		}
		began := time.Now()
		err := l.make(ctx, t.name)
		took := fmt.Sprintf("(%.0f s)", time.Since(began).Seconds())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			say(t, fmt.Sprintf("FAILED %s: %v", took, err))
		default:
			say(t, "ok "+took)
		}
	}
	if err := l.slowest(); err != nil {
		fmt.Fprintln(l.w, "=== the slowest tests are not known:", err)
	}
	fmt.Fprintf(l.w, "=== long: %.0f s\n%s\n", time.Since(l.began).Seconds(), strings.Join(summary, "\n"))
	return nil
}

func (l *longLane) left() time.Duration { return l.budget - time.Since(l.began) }

// make runs one target and ends it, and all that it started, with the lane's budget: a target that hangs must not take the time of the
// run around the lane.
func (l *longLane) make(ctx context.Context, name string) error {
	if l.budget > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, l.left(), fmt.Errorf("ended after the lane's %s", l.budget))
		defer stop()
	}
	fmt.Fprintf(l.w, "=== make %s\n", name)
	c := command(ctx, l.repo, "make", name)
	c.Stdout, c.Stderr = l.w, l.w
	err := runAll(c)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return cause
	}
	return err
}

// slowest prints the slowest tests by the events that the targets left in build/tests since the lane began.
func (l *longLane) slowest() error {
	files, err := filepath.Glob(filepath.Join(l.repo, "build/tests/*.json"))
	if err != nil {
		return err
	}
	var reports []*report
	for _, name := range files {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().Before(l.began) {
			continue
		}
		if err != nil {
			return err
		}
		text, err := os.Open(name)
		if err != nil {
			return err
		}
		r, err := readReport(text)
		_ = text.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		reports = append(reports, r)
	}
	printSlowest(l.w, 10, reports...)
	return nil
}
