package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The suite's own tests go on with an interrupted run; here a real guest runs in a real part.
func TestAnInterruptedReportLeavesNoGuestNoFileAndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "report")
	c, root := guestOf(t, newCommand(t, programs(t), "bench", "all", "--quick", "--only", "start", "--out", out), "*/*")
	if err := unix.Kill(-c.Process.Pid, unix.SIGINT); err != nil { // as a terminal does
		t.Fatal(err)
	}
	if code := c.finish(t); code != 1 || !strings.Contains(c.stderr.String(), "--resume") {
		t.Errorf("exit code %d, said %q", code, c.stderr.String())
	}
	noGuests(t, root)
	if left, err := filepath.Glob(filepath.Join(out, "report.*")); len(left) > 0 || err != nil {
		t.Errorf("half a report: %v, %v", left, err)
	}
	if left, err := os.ReadDir(filepath.Join(out, "parts")); len(left) != 1 || err != nil {
		t.Errorf("kept %v, %v; want the settings alone", left, err)
	}
}

func TestTheCommandsOfReportsExplainWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	dir, none := programs(t), filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bench", "all", "--only", "nothing"}, 2, "--only nothing: there are start, api"},
		{[]string{"bench", "all", "now"}, 2, "no arguments"},
		{[]string{"bench", "compare", none}, 2, "two reports"},
		{[]string{"bench", "compare", none, none}, 1, none},
		{[]string{"bench", "ab", none}, 2, "two folders"},
		{[]string{"bench", "ab", none, none}, 1, "a build is a folder with taproomd and its siblings"},
		{[]string{"bench", "ab", dir, dir, "--only", "copy"}, 2, "--only copy: there are start, api"},
	} {
		if _, said, code := taproom(t, dir, c.args...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("taproom %q: exit code %d, said %q; want %d and %q", c.args, code, said, c.code, c.want)
		}
	}
}
