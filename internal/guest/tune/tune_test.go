package tune

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/spec"
)

func parse(t *testing.T, inside string) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain([]byte("<domain type='qemu'><name>a</name>" + inside + "</domain>"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLimitsAreWhatTheKernelIsTold(t *testing.T) {
	t.Parallel()
	d := parse(t, "<blkiotune><weight>300</weight><device><path>/dev/sda</path><weight>50</weight><read_bytes_sec>1000</read_bytes_sec><write_iops_sec>7</write_iops_sec></device></blkiotune>"+
		"<memtune><hard_limit unit='MiB'>8</hard_limit><soft_limit>9007199254740991</soft_limit><swap_hard_limit unit='MiB'>9</swap_hard_limit></memtune>"+
		"<cputune><shares>2</shares><period>2000</period><quota>-1</quota><emulator_quota>5000</emulator_quota></cputune>")
	limits, err := Limits(d, []string{"emulator", "vcpu0", "iothread1"}, []string{"iothread1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range limits {
		got = append(got, strings.TrimPrefix(l.Group+"/", "/")+l.File+" "+l.Device+": "+l.Value)
	}
	want := []string{
		"cpu.weight : 2", "cpu.max : max 100000", "memory.max : 8388608", "memory.high : max", "memory.swap.max : 1048576",
		"io.weight : default 300", "io.weight /dev/sda: 50", "io.max /dev/sda: rbps=1000 wbps=max riops=max wiops=7",
		"emulator/cpu.max : 5000 100000", "iothread1/cpu.max : max 100000", "cpuset.mems : ", "iothread1/cpuset.cpus : ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = Limits(parse(t, "<cputune><shares>20000</shares></cputune>"), nil, nil)
	if want := "cputune/shares is not supported: 20000: a share is from 1 to 10000 with cgroup v2, and 100 by default"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCPUSetsHoldThreadsAndMemoryWhereTheDocumentSaysSo(t *testing.T) {
	t.Parallel()
	const pins = "<vcpu cpuset='0-3'>2</vcpu><cputune><vcpupin vcpu='1' cpuset='2'/><emulatorpin cpuset='5'/></cputune>"
	memory := func(mode, more string) string {
		return more + "<numatune><memory mode='" + mode + "' nodeset='1'/><memnode cellid='0' mode='strict' nodeset='3'/></numatune>" +
			"<cpu><numa><cell id='0' memory='1024'/></numa></cpu>"
	}
	for _, c := range []struct {
		inside string
		want   string
	}{
		{"", "cpuset.mems="},
		{pins, "cpuset.mems= emulator/cpuset.cpus=5 vcpu0/cpuset.cpus=0-3 vcpu1/cpuset.cpus=2"},
		{memory("strict", ""), "cpuset.mems=1,3"},
		{memory("preferred", ""), "cpuset.mems="},
		{memory("strict", "<maxMemory slots='2'>4096</maxMemory>"), "cpuset.mems="},
	} {
		limits, err := Limits(parse(t, c.inside), []string{"emulator", "vcpu0", "vcpu1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range limits {
			if l.Controller == "cpuset" {
				got = append(got, strings.TrimPrefix(l.Group+"/", "/")+l.File+"="+l.Value)
				if !l.Optional {
					t.Errorf("%s is not optional", l.File)
				}
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.inside, got, c.want)
		}
	}
}

func TestThreadsHaveAPlaceEach(t *testing.T) {
	t.Parallel()
	d := parse(t, "<vcpu cpuset='0-3'>4</vcpu><cputune><vcpupin vcpu='1' cpuset='1'/><emulatorpin cpuset='0'/><iothreadpin iothread='7' cpuset='2,3'/>"+
		"<emulatorsched scheduler='idle'/><vcpusched vcpus='0,2-3' scheduler='fifo' priority='5'/><iothreadsched iothreads='7' scheduler='batch'/></cputune>")
	for name, want := range map[string]Place{
		"vcpu0": {CPUs: []int{0, 1, 2, 3}, Scheduler: "fifo", Priority: 5}, "vcpu1": {CPUs: []int{1}},
		"emulator": {CPUs: []int{0}, Scheduler: "idle"}, "iothread7": {CPUs: []int{2, 3}, Scheduler: "batch"}, "iothread1": {CPUs: []int{0, 1, 2, 3}},
	} {
		got, err := PlaceOf(d, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := PlaceOf(parse(t, ""), "vcpu0"); got.CPUs != nil || err != nil {
		t.Errorf("a document that says nothing: %+v, %v", got, err)
	}
	for inside, want := range map[string][3]bool{
		"<vcpu>1</vcpu>": {false, false, false}, "<vcpu cpuset='0'>1</vcpu>": {true, true, true},
		"<cputune><shares>5</shares></cputune>":         {false, false, true},
		"<cputune><quota>5000</quota></cputune>":        {false, true, true},
		"<memtune><hard_limit>1</hard_limit></memtune>": {false, false, true},
	} {
		d := parse(t, inside)
		if got := [3]bool{Wanted(d), Threads(d), Any(d)}; got != want {
			t.Errorf("%s: %v, want %v", inside, got, want)
		}
	}
}
