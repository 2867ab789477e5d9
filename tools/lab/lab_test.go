package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// log is what a test binary prints with -test.v=test2json.
const log = "\x16=== RUN   TestA\n\x16--- PASS: TestA (0.00s)\n" +
	"\x16=== RUN   TestB\n\x16=== NAME  TestB\n    b_test.go:7: this kernel has no thing;\n        lifted by kernel 6.12\n\x16--- SKIP: TestB (0.00s)\n" +
	"\x16=== RUN   TestC\n\x16=== RUN   TestC/sub\n    c_test.go:9: got 1, want 2\n\x16--- FAIL: TestC (0.00s)\n    \x16--- FAIL: TestC/sub (0.00s)\n" +
	"\x16=== RUN   TestD\npanic: boom\n"

// left makes a folder as a run leaves it: logs and exit codes by the name of the binary.
func left(t *testing.T, files map[string]string) (suite, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return suite{repo: ".", packages: []pkg{{folder: "internal/a", binary: "a.test"}, {folder: "internal/b", binary: "b.test"}}}, dir
}

func TestWhatBecameOfTestsIsReadFromTheirLogs(t *testing.T) {
	t.Parallel()
	s, dir := left(t, map[string]string{"a.test.log": log, "a.test.rc": "2\n"})
	r, err := s.read(t.Context(), dir, "6.1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[test]outcome{
		{"internal/a", "TestA"}:     {action: "pass"},
		{"internal/a", "TestB"}:     {"skip", "b_test.go:7: this kernel has no thing;\n        lifted by kernel 6.12"},
		{"internal/a", "TestC"}:     {action: "fail"},
		{"internal/a", "TestC/sub"}: {"fail", "c_test.go:9: got 1, want 2"},
	}
	if !reflect.DeepEqual(r.tests, want) {
		t.Errorf("got %+v\nwant %+v", r.tests, want)
	}
	if len(r.broken) != 2 || !strings.HasPrefix(r.broken[0], `internal/a: ended with "2" in the middle of [TestD]:`) || !strings.HasSuffix(r.broken[0], "panic: boom") ||
		r.broken[1] != "internal/b: its tests did not run" {
		t.Errorf("broken %q", r.broken)
	}
}

// What fails without a failing test is seen all the same: a leak that is found at the end, a binary that does not start.
func TestAPackageThatFailsWithoutATestIsBroken(t *testing.T) {
	t.Parallel()
	passed := "\x16=== RUN   TestA\n\x16--- PASS: TestA (0.00s)\n\x16PASS\n"
	s, dir := left(t, map[string]string{"a.test.log": passed + "descriptors left\n", "a.test.rc": "1\n", "b.test.log": passed, "b.test.rc": "0\n"})
	r, err := s.read(t.Context(), dir, "6.1")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.broken) != 1 || !strings.HasPrefix(r.broken[0], "internal/a: ended with \"1\":") || !strings.Contains(r.broken[0], "descriptors left") {
		t.Errorf("broken %q", r.broken)
	}
}

func TestTheReportNamesEverySkipAndWhetherAKernelLiftsIt(t *testing.T) {
	t.Parallel()
	never, lifted, runs := test{"internal/a", "TestNever"}, test{"internal/a", "TestLifted"}, test{"internal/b", "TestRuns"}
	skip := outcome{"skip", "x_test.go:3: no thing;\n   lifted by kernel 6.12"}
	all := []results{
		{kernel: "6.18, this one", took: time.Minute, tests: map[test]outcome{never: skip, lifted: skip, runs: {action: "pass"}}},
		{kernel: "6.12", took: 90 * time.Second, tests: map[test]outcome{never: skip, lifted: {action: "pass"}, runs: {action: "pass"}}},
	}
	var b strings.Builder
	if report(&b, all) {
		t.Error("a test that no kernel runs is well")
	}
	want := `kernel          ran  skipped  failed  took
6.18, this one  1    2        0       1m0s
6.12            2    1        0       1m30s

internal/a TestLifted
  6.18, this one           skip: no thing; lifted by kernel 6.12
  6.12                     pass

internal/a TestNever
  6.18, this one           skip: no thing; lifted by kernel 6.12
  6.12                     skip: no thing; lifted by kernel 6.12
  NEVER                    no kernel of the lab runs it

2 tests are skipped on some kernel, 1 of them on all
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	delete(all[0].tests, never)
	delete(all[1].tests, never)
	if b.Reset(); !report(&b, all) {
		t.Errorf("not well, though one kernel lifts the skip:\n%s", b.String())
	}
	all[1].tests[runs] = outcome{"fail", "got 1\nwant 2"}
	if b.Reset(); report(&b, all) || !strings.Contains(b.String(), "\nFAIL on 6.12: internal/b TestRuns\n    got 1\n    want 2\n") {
		t.Errorf("a failure:\n%s", b.String())
	}
	all[1].tests[runs] = outcome{action: "pass"}
	all[1].broken = []string{"the guest hung"}
	if b.Reset(); report(&b, all) || !strings.Contains(b.String(), "\nFAIL on 6.12: the guest hung\n") {
		t.Errorf("a guest that hung:\n%s", b.String())
	}
}

func TestOnlyTheLabsKernelsAreTaken(t *testing.T) {
	t.Parallel()
	if all, err := chosen(""); err != nil || len(all) != len(kernels()) {
		t.Errorf("all: %v, %v", all, err)
	}
	if one, err := chosen("6.12"); err != nil || len(one) != 1 || one[0].release != "backports" {
		t.Errorf("6.12: %v, %v", one, err)
	}
	if _, err := chosen("5.10"); err == nil || err.Error() != "there is no kernel 5.10: there are 6.1 and 6.12" {
		t.Errorf("5.10: %v", err)
	}
}

func TestBuiltInModulesAreNoFiles(t *testing.T) {
	t.Parallel()
	got := moduleFiles([]byte("builtin virtio\ninsmod /k/netfs.ko.xz \ninsmod /k/9p.ko option=1\n"))
	if want := []string{"/k/netfs.ko.xz", "/k/9p.ko"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A machine without a system, which halts at once, stands for a guest that crashes.
func TestAGuestThatDoesNotFinishSaysWhereAndShowsItsConsole(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	bad := filepath.Join(t.TempDir(), "boot")
	if err := os.MkdirAll(filepath.Join(bad, "boot"), 0o755); err != nil {
		t.Fatal(err)
	}
	k := kernel{name: "6.1", tree: bad, version: "none", initramfs: "/dev/null"}
	err := k.boot(t.Context(), "/", dir, []pkg{{folder: "internal/a", binary: "a.test"}}, time.Minute)
	if !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "before the first tests") || !strings.Contains(err.Error(), "vmlinuz-none") {
		t.Errorf("got %v", err)
	}
}

func TestAGuestRunsWhatWasSkippedHere(t *testing.T) {
	t.Parallel()
	s := suite{packages: []pkg{{folder: "internal/a", flags: []string{"-test.v"}}, {folder: "internal/b"}, {folder: "internal/c"}}}
	got := s.skipped(results{tests: map[test]outcome{
		{"internal/a", "TestA"}:        {action: "skip"},
		{"internal/a", "TestB"}:        {action: "pass"},
		{"internal/a", "TestC"}:        {action: "pass"},
		{"internal/a", "TestC/kernel"}: {action: "skip"},
		{"internal/b", "TestD"}:        {action: "fail"},
		{"internal/c", "TestE"}:        {action: "skip"},
	}}).packages
	want := []pkg{
		{folder: "internal/a", flags: []string{"-test.v", "-test.run=^(TestA|TestC)$"}},
		{folder: "internal/c", flags: []string{"-test.run=^(TestE)$"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
