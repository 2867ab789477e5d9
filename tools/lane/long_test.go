package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// plain replaces durations.
func plain(text string) string {
	return regexp.MustCompile(`\(?\d+ ?s\)?`).ReplaceAllString(text, "(N s)")
}

func TestLong_ReportsEachTargetAndNeverFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		makefile string
		args     []string
		want     []string // last lines
	}{
		"one fails": {
			"a:\n\t@true\nb:\n\t@exit 3\nc:\n\t@true\n",
			[]string{"a:1", "b:1", "c:1"},
			[]string{"LONG a ok (N s)", "LONG b FAILED (N s): exit status 2", "LONG c ok (N s)"},
		},
		"one does not fit the budget": {
			"a:\n\t@true\nb:\n\t@true\n",
			[]string{"-budget", "5m", "a:9", "b:1"},
			[]string{"LONG a not reached", "LONG b ok (N s)"},
		},
		"the order rotates with the commit": {
			"a b c:\n\t@true\n",
			[]string{"-rotate", "00000002ffff", "a:1", "b:1", "c:1"},
			[]string{"LONG c ok (N s)", "LONG a ok (N s)", "LONG b ok (N s)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, map[string]string{"Makefile": c.makefile})
			var out bytes.Buffer
			if err := runLong(t.Context(), &out, append([]string{"-repo", root}, c.args...)); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(plain(out.String())), "\n")
			if got := strings.Join(lines[max(0, len(lines)-len(c.want)):], "\n"); got != strings.Join(c.want, "\n") {
				t.Errorf("the last lines are\n%s\nwant\n%s", got, strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestLong_EndsATargetWithItsBudgetAndAllThatItStarted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"Makefile": "a:\n\t@sleep 1000 & echo $$! >pid; wait\n"})
	var out bytes.Buffer
	l := &longLane{repo: root, w: &out, budget: 2 * time.Second, began: time.Now()}
	if err := l.run(t.Context(), []target{{"a", 0}}); err != nil {
		t.Fatal(err)
	}
	if want := "LONG a FAILED (N s): ended after the lane's (N s)"; !strings.HasSuffix(strings.TrimSpace(plain(out.String())), want) {
		t.Errorf("it printed\n%s\nwant at the end\n%s", out.String(), want)
	}
	pid, err := os.ReadFile(filepath.Join(root, "pid"))
	if err != nil {
		t.Fatalf("the target did not begin: %v", err)
	}
	// A killed process without a parent may stay as a zombie, which has no command line.
	if line, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline"); err == nil && len(line) > 0 {
		t.Errorf("the target's child still runs: %q", line)
	}
}

// TestRun_TheGateAloneDecides runs a copy of .ci/run on a makefile whose targets do as they are told.
func TestRun_TheGateAloneDecides(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	const fine = "bench-counters:\n\t@echo no difference\n"
	for name, c := range map[string]struct {
		makefile string
		fails    bool
		last     []string
	}{
		"all pass": {
			fine + "check test:\n\t@true\nlong:\n\t@echo LONG a ok\n", false,
			[]string{"GATE check ok (N s)", "GATE test ok (N s)", "no difference", "PERF bench-counters ok (N s)", "LONG a ok"},
		},
		"the check fails": {fine + "check:\n\t@exit 1\ntest long:\n\t@true\n", true, []string{"GATE check FAILED (N s)"}},
		"a test fails":    {fine + "check long:\n\t@true\ntest:\n\t@exit 1\n", true, []string{"GATE test FAILED (N s)"}},
		"the counters fail": {
			"bench-counters:\n\t@exit 1\ncheck test:\n\t@true\nlong:\n\t@echo LONG a ok\n", false,
			[]string{"PERF bench-counters FAILED (N s)", "LONG a ok"},
		},
		"a long one fails": {
			fine + "check test:\n\t@true\nlong:\n\t@exit 1\n", false,
			[]string{"PERF bench-counters ok (N s)", "LONG the lane itself FAILED"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, map[string]string{"Makefile": c.makefile, ".ci/run": string(script)})
			run := exec.Command("bash", filepath.Join(root, ".ci/run"))
			run.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // make inside of make prints its directory
			out, err := run.CombinedOutput()
			if (err != nil) != c.fails {
				t.Errorf("it ended with %v, want a failure: %t", err, c.fails)
			}
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(plain(string(out))), "\n"), func(line string) bool {
				return strings.HasPrefix(line, "make: ***") // a target that failed
			})
			if got := lines[max(0, len(lines)-len(c.last)):]; !slices.Equal(got, c.last) {
				t.Errorf("the last lines are %q, want %q", got, c.last)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
