package daemontest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestADaemonServesUntilItIsStoppedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := New(t)
	v, err := d.Client().Version(t.Context())
	if err != nil || v.Root != d.Root {
		t.Errorf("version %+v, error %v", v, err)
	}
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

func TestADaemonIsKilledAtTheCallAskedFor(t *testing.T) {
	t.Parallel()
	d := Prepare(t)
	calls := filepath.Join(d.Root, "calls")
	err := d.Start(CrashAt(5), Calls(calls))
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("start: %v, want killed", err)
	}
	b, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n < 5 {
		t.Errorf("it made %d calls before its end, want at least 5:\n%s", n, b)
	}
	if err := d.Start(); err != nil {
		t.Errorf("start after the crash: %v", err)
	}
}

func TestABugIsFoundInWhatTheDaemonSays(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"level=INFO msg=fine":                          "",
		"panic: x\n\ngoroutine 1":                      "\npanic: x\n\ngoroutine 1",
		"level=INFO\nWARNING: DATA RACE\nWrite at ...": "WARNING: DATA RACE\nWrite at ...",
	} {
		if got := bugIn(said); got != want {
			t.Errorf("in %q: %q, want %q", said, got, want)
		}
	}
}
