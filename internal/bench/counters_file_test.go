package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// attach is an operation that makes calls.
func attach(allocated uint64, calls map[string]uint64) Operation {
	return Operation{Name: nicAttach, Netlink: 7, Allocated: allocated, Calls: calls, HostCalls: total(calls)}
}

func TestCounterFile_TellsEachCountThatDiffers(t *testing.T) {
	t.Parallel()
	old := map[string]uint64{
		"nic_attach.programs": 0, "nic_attach.qemu_starts": 0, "nic_attach.netlink_messages": 7, "nic_attach.allocated_bytes": 10_000,
		"nic_attach.host_calls": 3, "nic_attach.host_calls link get": 2, "nic_attach.host_calls tap create": 1,
	}
	for name, c := range map[string]struct {
		is   Operation
		want []string
	}{
		"the same":       {attach(10_000, map[string]uint64{"link get": 2, "tap create": 1}), []string{}},
		"within 5 %":     {attach(10_499, map[string]uint64{"link get": 2, "tap create": 1}), []string{}},
		"5 % more bytes": {attach(10_500, map[string]uint64{"link get": 2, "tap create": 1}), []string{"nic_attach.allocated_bytes 10000 → 10500"}},
		"5 % less bytes": {attach(9500, map[string]uint64{"link get": 2, "tap create": 1}), []string{"nic_attach.allocated_bytes 10000 → 9500"}},
		"one more call": {attach(10_000, map[string]uint64{"link get": 3, "tap create": 1}), []string{
			"nic_attach.host_calls 3 → 4", "nic_attach.host_calls link get 2 → 3",
		}},
		"another call in the place of one": {attach(10_000, map[string]uint64{"link get": 2, "macvtap create": 1}), []string{
			"nic_attach.host_calls macvtap create none → 1", "nic_attach.host_calls tap create 1 → none",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, compareCounters(old, []Operation{c.is})); d != "" {
				t.Errorf("differences (-want +got):\n%s", d)
			}
		})
	}
	if got := compareCounters(map[string]uint64{"nic_attach.allocated_bytes": 0}, []Operation{attach(1, nil)}); !slices.Contains(got, "nic_attach.allocated_bytes 0 → 1") {
		t.Errorf("bytes where there were none: %q", got)
	}
}

func TestCounterFile_ReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "counters.txt")
	operations := []Operation{attach(10_000, map[string]uint64{"link get": 2, "file create *.state": 1})}
	if err := writeCounters(path, Host{Kernel: "6.1", QEMU: "7.2"}, nil, operations); err != nil {
		t.Fatal(err)
	}
	old, fileWith, err := readCounters(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := compareCounters(old, operations); len(got) != 0 {
		t.Errorf("the file differs from what was written: %q", got)
	}
	if want := "Linux 6.1, QEMU 7.2, " + runtime.Version(); fileWith != want {
		t.Errorf("measured with %q, want %q", fileWith, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `nic_attach.programs 0
nic_attach.qemu_starts 0
nic_attach.netlink_messages 7
nic_attach.allocated_bytes 10000
nic_attach.host_calls 3
nic_attach.host_calls file create *.state 1
nic_attach.host_calls link get 2
`
	if _, body, _ := strings.Cut(string(text), runtime.Version()+".\n"); body != want {
		t.Errorf("the file:\n%s\nwant after its comments:\n%s", text, want)
	}
}

func TestCounterTable_SaysThatTheFileIsFromElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table CountTable
		want  string
	}{
		"no file": {CountTable{With: "Linux 6.1"}, ""},
		"nothing differs": {
			CountTable{File: "f", FileWith: "Linux 6.1", With: "Linux 6.18"},
			"no difference from f\n",
		},
		"the same kernel": {
			CountTable{File: "f", FileWith: "Linux 6.1", With: "Linux 6.1", Differences: []string{"a.b 1 → 2"}},
			"1 differences from f:\n  a.b 1 → 2\n",
		},
		"another kernel": {
			CountTable{File: "f", FileWith: "Linux 6.1", With: "Linux 6.18", Differences: []string{"a.b 1 → 2"}},
			"1 differences from f:\n  a.b 1 → 2\nthe file was measured with Linux 6.1; this is Linux 6.18\n",
		},
	} {
		var out strings.Builder
		if c.table.writeText(&out); out.String() != c.want {
			t.Errorf("%s: it prints %q, want %q", name, out.String(), c.want)
		}
	}
}

func TestCounterFile_RenewalKeepsWhatDoesNotDiffer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "counters.txt")
	old := map[string]uint64{"nic_attach.allocated_bytes": 10_000, "nic_attach.netlink_messages": 8}
	if err := writeCounters(path, Host{}, old, []Operation{attach(10_100, nil)}); err != nil {
		t.Fatal(err)
	}
	got, _, err := readCounters(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if got["nic_attach.allocated_bytes"] != 10_000 || got["nic_attach.netlink_messages"] != 7 {
		t.Errorf("renewed to %v, want the bytes of before and the messages of now", got)
	}
}

func TestCounterFile_RefusesWhatIsNoCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# a comment\n\na.b 1\nnonsense\n": `f, line 4: "nonsense"`,
		"a.b many\n":                       `f, line 1: "a.b many"`,
		"a.b -1\n":                         `f, line 1: "a.b -1"`,
		"a.b 1\na.b 1\n":                   `f, line 2: "a.b 1"`,
		"7\n":                              `f, line 1: "7"`,
	} {
		if got, err := parseCounters("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q was read as %v, %v; want an error with %q", text, got, err, want)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, _, err := readCounters(missing, false); err == nil || !strings.Contains(err.Error(), "--renew writes them") {
		t.Errorf("a file that is not there: %v", err)
	}
	if old, _, err := readCounters(missing, true); err != nil || len(old) != 0 {
		t.Errorf("a file that is to be written: %v, %v", old, err)
	}
}

// TestCounterFile_HasTheNamesThatAreMeasured finds a name that was added or renamed without a renewal.
func TestCounterFile_HasTheNamesThatAreMeasured(t *testing.T) {
	t.Parallel()
	counts, _, err := readCounters("counters.txt", false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, name := range countedOperations() {
		for _, c := range (Operation{Name: name}).counts() {
			want[c.name] = true
		}
	}
	got := map[string]bool{}
	for name := range counts {
		if figure, _, isCall := strings.Cut(name, " "); !isCall {
			got[figure] = true
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("names of counters.txt (-measured +file), renew it with make bench-counters RENEW=1:\n%s", d)
	}
}
