// Command lab runs tests of the repo on kernels of the distribution, with their modules, each in an emulated guest that sees
// this machine's files read-only; and on this machine's own kernel, to compare. It fails when a test fails anywhere, when
// one is skipped on all kernels, and when a guest hangs or crashes. What guests printed is left in build/lab.
//
// In guests only those tests run that this machine's kernel skips, unless all are asked for, or some by name: emulated, the
// rest takes an hour.
//
//	go run -C tools ./lab -repo /path/to/repo [-kernel 6.12] [-run regexp | -all] package[@regexp]…
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// options are what the command line asks for.
type options struct {
	repo, kernel, run string
	all               bool
	patterns          []string
	limit             time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.repo, "repo", "..", "the `folder` of the repo")
	flag.StringVar(&o.kernel, "kernel", "", "one of the lab's kernels alone, by `name`: 6.1 or 6.12")
	flag.StringVar(&o.run, "run", "", "tests that match the `regexp` alone")
	flag.BoolVar(&o.all, "all", false, "those too that this machine's kernel does not skip")
	flag.DurationVar(&o.limit, "timeout", 15*time.Minute, "how long a guest may take at least, and twice what the tests of a package may take")
	flag.Parse()
	o.patterns = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	ok, err := lab(ctx, os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// lab does it all, and reports whether all is well.
func lab(ctx context.Context, w io.Writer, o options) (bool, error) {
	repo, err := filepath.Abs(o.repo)
	if err != nil {
		return false, err
	}
	dir := filepath.Join(repo, "build/lab")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	list, err := chosen(o.kernel)
	if err != nil {
		return false, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, fmt.Errorf("%s: another one is running in this folder: %w", lock.Name(), err)
	}
	for i := range list {
		if list[i], err = list[i].fetch(ctx, repo, dir); err != nil {
			return false, err
		}
	}
	flags := []string{"-test.v=test2json", "-test.short"}
	if o.run != "" {
		flags = append(flags, "-test.run="+o.run)
	}
	s, err := compile(ctx, repo, dir, o.patterns, flags)
	if err != nil {
		return false, err
	}
	all, err := s.everywhere(ctx, list, o)
	if err != nil {
		return false, err
	}
	return report(w, all), nil
}

// chosen are the kernels of that name, all for none.
func chosen(name string) ([]kernel, error) {
	if name == "" {
		return kernels(), nil
	}
	var names []string
	for _, k := range kernels() {
		if k.name == name {
			return []kernel{k}, nil
		}
		names = append(names, k.name)
	}
	return nil, fmt.Errorf("there is no kernel %s: there are %s", name, strings.Join(names, " and "))
}

// everywhere runs the tests here unless one kernel and all tests were asked for, and then in a guest for each kernel, one after
// the other: each of them keeps both processors of a small machine busy.
func (s suite) everywhere(ctx context.Context, list []kernel, o options) ([]results, error) {
	var all []results
	every := o.all || o.run != ""
	if o.kernel == "" || !every {
		r, err := s.here(ctx, o.limit/2)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		if !every {
			s = s.skipped(r)
		}
	}
	for _, k := range list {
		r, err := s.inGuest(ctx, k, o.limit)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// inGuest runs the tests in a guest with kernel k, within limit.
func (s suite) inGuest(ctx context.Context, k kernel, limit time.Duration) (results, error) {
	began := time.Now()
	out := filepath.Join(s.dir, "out-"+k.name)
	stuck := k.boot(ctx, s.repo, out, s.packages, limit)
	if stuck != nil && !errors.Is(stuck, errStuck) || ctx.Err() != nil {
		return results{}, errors.Join(stuck, ctx.Err())
	}
	r, err := s.read(ctx, out, k.version)
	r.took = time.Since(began)
	if stuck != nil {
		r.broken = append(r.broken, stuck.Error())
	}
	return r, err
}
