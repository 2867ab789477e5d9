package tuning

import (
	"bufio"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// A process of one thread is placed and taken back.
func TestThreadsArePlacedWhereTheDocumentWants(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	online, err := k.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo up; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	g := Guest{Kernel: k, PID: cmd.Process.Pid}
	last := online[len(online)-1]
	check := func(inside string, cpus []int, s host.Scheduling) {
		t.Helper()
		if err := g.Place(tuned(t, inside)); err != nil {
			t.Fatal(err)
		}
		got, err := k.Affinity(g.PID)
		if err != nil || !slices.Equal(got, cpus) {
			t.Errorf("%s: CPUs %v, %v; want %v", inside, got, err, cpus)
		}
		if got, err := k.Scheduling(g.PID); err != nil || got != s {
			t.Errorf("%s: scheduling %+v, %v; want %+v", inside, got, err, s)
		}
	}
	check("<cputune><emulatorpin cpuset='"+strconv.Itoa(last)+",9000'/><emulatorsched scheduler='batch'/></cputune>", []int{last}, host.Scheduling{Policy: unix.SCHED_BATCH})
	check("", online, host.Scheduling{})
	err = g.Place(tuned(t, "<cputune><emulatorpin cpuset='9000'/></cputune>"))
	if want := "place emulator: none of the CPUs 9000 is on this host, which has "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
}
