package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/bench"
)

// TestCounters_CountEachOperation measures once, in as few rounds as there can be: beside other tests a timer of the daemon may make a
// call in each of them, so only what must be there is looked at.
func TestCounters_CountEachOperation(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "counters.txt")
	r := report(t, programs(t), "counters", "--rounds", "1", "--counters", file, "--renew")
	var names, want []string
	for _, f := range r.Figures {
		names = append(names, f.Name+" "+f.Unit)
	}
	for _, operation := range []string{"network_start", "guest_start", "nic_attach", "appliance_clone"} {
		want = append(want, operation+".programs each", operation+".qemu_starts each", operation+".host_calls each",
			operation+".netlink_messages each", operation+".allocated_bytes B")
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
	network, guest, nic, clone := r.Counts.Operations[0], r.Counts.Operations[1], r.Counts.Operations[2], r.Counts.Operations[3]
	if network.Programs != 0 || network.QEMUStarts != 0 || network.Netlink == 0 || network.Allocated == 0 || network.Calls["bridge create"] != 1 {
		t.Errorf("a network start: %+v; want one bridge, messages and bytes, and no program", network)
	}
	for _, o := range []bench.Operation{guest, clone} {
		if o.Programs != 1 || o.QEMUStarts != 1 || o.Calls["process start taproom-launch"] != 1 || o.Allocated == 0 {
			t.Errorf("%s: %+v; want one program, which is QEMU", o.Name, o)
		}
	}
	if nic.Programs != 0 || nic.Calls["tap create"] != 1 || nic.Netlink == 0 {
		t.Errorf("an attach: %+v; want one tap and no program", nic)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "nic_attach.host_calls tap create 1\n") {
		t.Errorf("the file, %v:\n%s", err, text)
	}
}

func TestCounters_AreTheSameInASecondRun(t *testing.T) {
	t.Parallel()
	if os.Getenv("TAPROOM_LONG") == "" {
		t.Skip("takes minutes: set TAPROOM_LONG=1 (make counters-twice)")
	}
	dir, file := programs(t), filepath.Join(t.TempDir(), "counters.txt")
	report(t, dir, "counters", "--rounds", "10", "--counters", file, "--renew")
	second := report(t, dir, "counters", "--rounds", "10", "--counters", file)
	for _, d := range second.Counts.Differences {
		t.Errorf("difference %q", d)
	}
}

func TestCounters_ExplainWhyTheyAreNotCompared(t *testing.T) {
	t.Parallel()
	dir, none := programs(t), filepath.Join(t.TempDir(), "none")
	if _, said, code := taproom(t, dir, "bench", "counters", "--renew"); code != 2 || !strings.Contains(said, "--counters names the file") {
		t.Errorf("exit code %d, said %q; want 2 and which flag is missing", code, said)
	}
	if _, said, code := taproom(t, dir, "bench", "counters", "--counters", none); code != 1 || !strings.Contains(said, none) {
		t.Errorf("exit code %d, said %q; want 1 and the file", code, said)
	}
}
