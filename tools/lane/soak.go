package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// soak runs the tests that a change touches many times on a machine whose processors are busy.
type soak struct {
	testLane
	base            string
	times, machines int // runs of each test, and of each test in a package that starts QEMU or daemons
	burn            bool
}

func runSoak(ctx context.Context, w io.Writer, args []string) error {
	s := &soak{testLane: testLane{w: w}}
	f := flag.NewFlagSet("lane soak", flag.ContinueOnError)
	f.StringVar(&s.repo, "repo", ".", "root of the repository")
	f.StringVar(&s.base, "base", "HEAD", "revision to compare the work tree with")
	f.IntVar(&s.times, "times", 20, "how often each test runs")
	f.IntVar(&s.machines, "machines", 5, "how often a test of a package in "+machinesFile+" runs")
	f.BoolVar(&s.burn, "burn", true, "keep every processor busy meanwhile")
	f.DurationVar(&s.timeout, "timeout", time.Hour, "limit of one package")
	if err := f.Parse(args); err != nil {
		return err
	}
	return s.run(ctx)
}

func (s *soak) run(ctx context.Context) error {
	module, err := goOutput(ctx, s.repo, "list", "-m")
	if err != nil {
		return err
	}
	module = strings.TrimSpace(module)
	machines, err := readList(s.repo, machinesFile, module)
	if err != nil {
		return err
	}
	tests, err := s.touched(ctx)
	if err != nil {
		return err
	}
	if len(tests) == 0 {
		return fmt.Errorf("no test differs from %s; name another revision with -base", s.base)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.burn {
		wait, err := burners(ctx)
		if err != nil {
			return err
		}
		defer func() { stop(); wait() }()
	}
	failed := false
	for _, folder := range slices.Sorted(maps.Keys(tests)) {
		n := s.times
		if machines[module+"/"+folder] {
			n = s.machines
		}
		bad, err := s.repeat(ctx, module+"/"+folder, tests[folder], n)
		if err != nil {
			return err
		}
		failed = failed || bad
	}
	if failed {
		return errFailed
	}
	return nil
}

// touched is the tests that differ from the base, by folder.
func (s *soak) touched(ctx context.Context) (map[string][]string, error) {
	diff, err := s.git(ctx, "diff", "-U0", "--no-prefix", "--no-color", "--no-ext-diff", "--no-renames", s.base)
	if err != nil {
		return nil, err
	}
	added, err := s.git(ctx, "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	hunks, err := parseDiff(diff)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(added) {
		hunks[name] = []hunk{{1, 1 << 30}}
	}
	changed := map[string]bool{} // folder → its testdata
	for name := range hunks {
		if folder, testdata := packageOf(name); folder != "" && !strings.HasPrefix(name, "tools/") {
			changed[folder] = changed[folder] || testdata
		}
	}
	tests := map[string][]string{}
	for folder, testdata := range changed {
		names, err := filepath.Glob(filepath.Join(s.repo, folder, "*_test.go"))
		if err != nil {
			return nil, err
		}
		files := testPackage{}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			files[folder+"/"+filepath.Base(name)] = string(text)
		}
		found, err := touched(files, hunks, testdata)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			tests[folder] = found
		}
	}
	return tests, nil
}

// repeat runs tests of a package n times and prints how often each failed; it reports whether any did.
func (s *soak) repeat(ctx context.Context, pkg string, tests []string, n int) (failed bool, err error) {
	quoted := make([]string, len(tests))
	for i, t := range tests {
		quoted[i] = regexp.QuoteMeta(t)
	}
	c := command(ctx, s.repo, "go", "test", "-json", "-count="+strconv.Itoa(n), "-timeout", s.timeout.String(), "-run", "^("+strings.Join(quoted, "|")+")$", pkg)
	var events bytes.Buffer
	c.Stdout, c.Stderr = &events, os.Stderr
	exit := runAll(c)
	if err := ctx.Err(); err != nil {
		return false, err
	}
	r, err := readReport(&events)
	if err != nil {
		return false, errors.Join(exit, err)
	}
	for _, t := range tests {
		id := testID{pkg, t}
		var first string
		bad := 0
		for _, f := range r.Failed {
			if f.testID == id {
				bad++
				first = f.Line
			}
		}
		ran := bad + r.Passed[id]
		line := fmt.Sprintf("SOAK %s: %d of %d failed", id, bad, ran)
		switch {
		case bad > 0:
			line += ": " + first
		case ran == 0:
			line = fmt.Sprintf("SOAK %s: skipped", id)
		}
		fmt.Fprintln(s.w, line)
	}
	for _, b := range r.Broken {
		fmt.Fprintln(s.w, "SOAK", b)
	}
	if exit != nil && len(r.Failed) == 0 && len(r.Broken) == 0 {
		return false, fmt.Errorf("go test %s: %w, and no event says why", pkg, exit)
	}
	return exit != nil, nil
}

// git runs git in the repository.
func (s *soak) git(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"-C", s.repo}, args...)...)
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// burners starts a process for each processor that does nothing but run, until ctx ends; wait returns when all have ended.
func burners(ctx context.Context) (wait func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var started []*exec.Cmd
	wait = func() {
		for _, c := range started {
			_ = c.Wait() // ended by the context
		}
		stop()
	}
	for range runtime.NumCPU() {
		c := exec.CommandContext(ctx, self, "burn", strconv.Itoa(os.Getpid()))
		if err := c.Start(); err != nil {
			stop()
			wait()
			return nil, fmt.Errorf("start a process that keeps a processor busy: %w", err)
		}
		started = append(started, c)
	}
	return wait, nil
}

// burn keeps a processor busy for as long as the process that asked for it is its parent.
func burn(parent string) error {
	pid, err := strconv.Atoi(parent)
	if err != nil {
		return fmt.Errorf("invalid process number %q", parent)
	}
	for os.Getppid() == pid {
		for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
		}
	}
	return nil
}
