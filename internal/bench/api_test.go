package bench

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResidentMemoryIsReadInMegabytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status string
		want   float64
		err    string
	}{
		{"Name:\tx\nVmHWM:\t  9999 kB\nVmRSS:\t   20480 kB\nRssAnon:\t 1 kB\n", 20, ""},
		{"VmRSS:\t1536 kB\n", 1.5, ""},
		{"Name:\tx\nState:\tZ (zombie)\n", 0, "the process has ended"},
		{"", 0, "the process has ended"},
		{"VmRSS:\tmany kB\n", 0, "many"},
	} {
		got, err := parseResident(c.status)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("of %q: %v, %v; want %v, %q", c.status, got, err, c.want, c.err)
		}
	}
}

func TestEachQuestionGoesToEverySideBeforeTheNext(t *testing.T) {
	t.Parallel()
	ask := func(s *apiSide) []Contender { return []Contender{{Name: s.prefix + "list"}, {Name: s.prefix + "info"}} }
	var got []string
	for _, c := range alternating([]*apiSide{{}, {prefix: "base."}, {prefix: "peer.libvirt."}}, ask) {
		got = append(got, c.Name)
	}
	want := []string{"list", "base.list", "peer.libvirt.list", "info", "base.info", "peer.libvirt.info"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func TestPythonsExceptionIsWhyAFigureIsMissing(t *testing.T) {
	t.Parallel()
	_, err := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", "echo Traceback >&2; echo 'ModuleNotFoundError: No module' >&2; exit 1").Output()
	if got := pythonSaid(err).Error(); got != "exit status 1: ModuleNotFoundError: No module" {
		t.Errorf("it says %q", got)
	}
	_, err = exec.CommandContext(t.Context(), "/nonexistent/python3").Output()
	if got := pythonSaid(err); got != err { //nolint:errorlint // the very error, untouched
		t.Errorf("an error of the start became %v", got)
	}
}
