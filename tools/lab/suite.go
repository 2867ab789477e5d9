package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pkg is a package whose tests are run.
type pkg struct {
	folder string // below the repo: "internal/host/nft"
	binary string // of its tests, in build/lab/tests: "internal_host_nft.test"
	flags  []string
}

// suite is what is run everywhere.
type suite struct {
	repo     string
	dir      string // build/lab
	packages []pkg
}

// compile builds the tests of what the patterns name: packages, as go list takes them, with @ and a regular expression for
// some of their tests, unless the flags say which. They run on the host's libraries in guests too.
func compile(ctx context.Context, repo, dir string, patterns, flags []string) (suite, error) {
	s := suite{repo: repo, dir: dir}
	tests := filepath.Join(dir, "tests")
	if err := errors.Join(os.RemoveAll(tests), os.MkdirAll(tests, 0o755)); err != nil {
		return s, err
	}
	for _, pattern := range patterns {
		packages, only, _ := strings.Cut(pattern, "@")
		list, err := run(ctx, repo, "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}", packages)
		if err != nil {
			return s, err
		}
		for _, folder := range strings.Fields(string(list)) {
			rel, err := filepath.Rel(repo, folder)
			if err != nil {
				return s, err
			}
			p := pkg{folder: rel, binary: strings.ReplaceAll(rel, "/", "_") + ".test", flags: flags}
			if only != "" {
				p.flags = append([]string{"-test.run=" + only}, flags...)
			}
			if _, err := run(ctx, repo, "go", "test", "-c", "-o", filepath.Join(tests, p.binary), "./"+rel); err != nil {
				return s, err
			}
			s.packages = append(s.packages, p)
		}
	}
	if len(s.packages) == 0 {
		return s, fmt.Errorf("%s: no package there has tests", strings.Join(patterns, " "))
	}
	return s, nil
}

// skipped are the tests of s that r says were skipped, with the rest of the test that a subtest is of.
func (s suite) skipped(r results) suite {
	names := map[string]map[string]bool{}
	for t, o := range r.tests {
		if o.action != "skip" {
			continue
		}
		if names[t.folder] == nil {
			names[t.folder] = map[string]bool{}
		}
		top, _, _ := strings.Cut(t.name, "/")
		names[t.folder][top] = true
	}
	var some []pkg
	for _, p := range s.packages {
		if n := names[p.folder]; n != nil {
			p.flags = append(slices.Clone(p.flags), "-test.run=^("+strings.Join(slices.Sorted(maps.Keys(n)), "|")+")$")
			some = append(some, p)
		}
	}
	s.packages = some
	return s
}

// here runs the tests on this machine's kernel, each package's within limit, and leaves logs as guests do.
func (s suite) here(ctx context.Context, limit time.Duration) (results, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return results{}, err
	}
	began := time.Now()
	dir := filepath.Join(s.dir, "out-here")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return results{}, err
	}
	for _, p := range s.packages {
		if err := s.test(ctx, p, dir, limit); err != nil {
			return results{}, err
		}
	}
	r, err := s.read(ctx, dir, unix.ByteSliceToString(u.Release[:])+", this one")
	r.took = time.Since(began)
	return r, err
}

// test runs one package's tests here, and leaves its log and exit code in dir.
func (s suite) test(ctx context.Context, p pkg, dir string, limit time.Duration) error {
	log, err := os.Create(filepath.Join(dir, p.binary+".log"))
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, filepath.Join(s.dir, "tests", p.binary), append(slices.Clone(p.flags), "-test.timeout="+limit.String())...)
	c.Dir, c.Stdout, c.Stderr = filepath.Join(s.repo, p.folder), log, log
	c.Env = append(os.Environ(), "TAPROOM_BIN="+filepath.Join(s.repo, "bin"))
	err = c.Run()
	log.Close()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	code := fmt.Sprintln(c.ProcessState.ExitCode())
	return os.WriteFile(filepath.Join(dir, p.binary+".rc"), []byte(code), 0o600)
}
