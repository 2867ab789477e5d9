package tuning

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/guest/tune"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/spec"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// real is a guest's cgroup in the kernel's own tree, with the controllers given, which this kernel may not have.
func real(t *testing.T, controllers ...string) Guest {
	t.Helper()
	g := Guest{Kernel: host.New(host.Options{})}
	var err error
	g.Root, err = g.Kernel.CgroupRoot()
	hosttest.Needs(t, err, hosttest.Lift{})
	above := filepath.Join(g.Root, fmt.Sprintf("taproom-test-%d-%s", os.Getpid(), strings.ToLower(t.Name())))
	g.Cgroup = filepath.Join(above, "guest-1")
	if err := g.Kernel.MakeCgroup(g.Cgroup); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's has ended
		defer cancel()
		if err := g.Kernel.KillCgroup(above); err != nil {
			t.Error(err)
		}
		if err := g.Kernel.RemoveCgroup(ctx, above); err != nil {
			t.Error(err)
		}
		g.Kernel.Close()
	})
	for _, c := range controllers {
		hosttest.Needs(t, g.Kernel.EnableController(g.Root, g.Cgroup, c), hosttest.Lift{})
	}
	return g
}

// files reads some of a cgroup's files.
func files(t *testing.T, g Guest, names ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		text, err := g.Kernel.ReadCgroup(g.Cgroup, name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	return out
}

// disk is the first of the host's disks: its path, and its number.
func disk(t *testing.T, k *host.Kernel) (path, number string) {
	t.Helper()
	disks, err := filepath.Glob("/sys/block/*/device")
	if err != nil || len(disks) == 0 {
		t.Fatalf("no disk: %v", err)
	}
	path = filepath.Join("/dev", filepath.Base(filepath.Dir(disks[0])))
	if number, err = k.DeviceNumber(path); err != nil {
		t.Fatal(err)
	}
	return path, number
}

func TestTheKernelTakesEveryLimitAndGivesItBack(t *testing.T) {
	t.Parallel()
	g := real(t, "cpu", "memory", "io", "cpuset")
	path, number := disk(t, g.Kernel)
	names := []string{"cpu.weight", "cpu.max", "memory.max", "memory.high", "memory.swap.max", "io.weight", "io.max", "cpuset.mems"}
	free := files(t, g, names...)
	doc := tuned(t, strings.ReplaceAll(bound, "</blkiotune>", "<device><path>"+path+"</path><weight>300</weight><read_bytes_sec>1048576</read_bytes_sec><write_iops_sec>50</write_iops_sec></device></blkiotune>")+
		"<numatune><memory mode='strict' nodeset='0'/></numatune>")
	refused := "limit io.weight: this kernel has no share of " + path + " for each guest ("
	remedy := "the disk's cost model: echo '" + number + " enable=1' >" + g.Root + "/io.cost.qos"
	if err := g.Limit(doc); err == nil || !strings.HasPrefix(err.Error(), refused) || !strings.HasSuffix(err.Error(), remedy) {
		t.Errorf("a disk without a cost model: got %v, want %s…%s", err, refused, remedy)
	}
	costs := func(enable string) {
		if err := g.Kernel.WriteCgroup(g.Root, "io.cost.qos", number+" enable="+enable); err != nil {
			t.Fatal(err)
		}
	}
	costs("1")
	defer costs("0")
	if err := g.Limit(doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"cpu.weight": "512", "cpu.max": "25000 50000", "memory.max": "67108864", "memory.high": "33554432", "memory.swap.max": "33554432",
		"io.weight": "default 200\n" + number + " 300", "io.max": number + " rbps=1048576 wbps=max riops=max wiops=50", "cpuset.mems": "0",
	}
	if diff := cmp.Diff(want, files(t, g, names...)); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
	var writes []string
	again := g
	again.Kernel = host.New(host.Options{Hook: func(step string) {
		if strings.HasPrefix(step, "cgroup write") {
			writes = append(writes, step)
		}
	}})
	defer again.Kernel.Close()
	if err := again.Limit(doc); err != nil || writes != nil {
		t.Errorf("a second time: %v, wrote %v", err, writes)
	}
	if err := g.Limit(tuned(t, "")); err != nil {
		t.Fatal(err)
	}
	free["cpuset.mems"] = files(t, g, "cpuset.mems.effective")["cpuset.mems.effective"] // all that there are
	if diff := cmp.Diff(free, files(t, g, names...)); diff != "" {
		t.Errorf("free again (-was +is):\n%s", diff)
	}
}

func TestAProcessFeelsItsLimits(t *testing.T) {
	t.Parallel()
	g := real(t, "cpu", "memory")
	if err := g.Limit(tuned(t, "<cputune><global_period>100000</global_period><global_quota>5000</global_quota></cputune>"+
		"<memtune><hard_limit unit='MiB'>16</hard_limit><swap_hard_limit unit='MiB'>16</swap_hard_limit></memtune>")); err != nil {
		t.Fatal(err)
	}
	in := func(script string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "sh", "-c", "echo $$ >"+filepath.Join(g.Cgroup, "cgroup.procs")+" && "+script)
	}
	// tail keeps what has no end of line in memory, all of it. The kernel ends it.
	if out, err := in("head -c 64M /dev/zero | tail -n 1 >/dev/null").CombinedOutput(); err == nil {
		t.Errorf("64 MiB in 16: no error; %s", out)
	}
	if text := files(t, g, "memory.events")["memory.events"]; count(text, "oom_kill") == 0 {
		t.Errorf("no process was ended:\n%s", text)
	}
	busy := in("while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); count(files(t, g, "cpu.stat")["cpu.stat"], "nr_throttled") == 0; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never throttled:\n%s", files(t, g, "cpu.stat")["cpu.stat"])
		}
	}
}

// count is a number of a file that has a name and a number in each line.
func count(text, name string) int {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(rest))
			return n
		}
	}
	return 0
}

// QEMU's threads are in cgroups of their own, which hold them where they may run.
func TestThreadsOfQEMUAreHeldByCgroups(t *testing.T) {
	t.Parallel()
	g := real(t, "cpu", "cpuset")
	online, err := g.Kernel.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	first, last := online[0], online[len(online)-1]
	qemu := exec.CommandContext(t.Context(), "qemu-system-x86_64", "-nodefaults", "-display", "none", "-S", "-m", "16", "-smp", "2",
		"-accel", "tcg,thread=multi", "-name", "a,debug-threads=on")
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = qemu.Process.Kill(); _ = qemu.Wait() }()
	g.PID = qemu.Process.Pid
	if err := os.WriteFile(filepath.Join(g.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(g.PID)), 0); err != nil {
		t.Fatal(err)
	}
	g.Threads = vcpuThreads(t, g)
	doc := tuned(t, fmt.Sprintf("<cputune><period>50000</period><quota>20000</quota><vcpupin vcpu='0' cpuset='%d'/><vcpupin vcpu='1' cpuset='%d,9000'/></cputune>", first, last))
	check := func(doc string, cpus map[string]string, affinity map[string][]int) {
		t.Helper()
		for _, th := range g.Threads {
			group, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/cgroup", g.PID, th.TID))
			if err != nil || !strings.HasSuffix(strings.TrimSpace(string(group)), "/guest-1/"+th.Name) {
				t.Errorf("%s: %s is in %q, %v", doc, th.Name, group, err)
			}
			got, err := g.Kernel.ReadCgroup(filepath.Join(g.Cgroup, th.Name), "cpuset.cpus")
			if err != nil || got != cpus[th.Name] {
				t.Errorf("%s: %s has processors %q, %v; want %q", doc, th.Name, got, err, cpus[th.Name])
			}
			if got, err := g.Kernel.Affinity(th.TID); err != nil || !slices.Equal(got, affinity[th.Name]) {
				t.Errorf("%s: %s runs on %v, %v; want %v", doc, th.Name, got, err, affinity[th.Name])
			}
		}
	}
	for range 2 { // the second time as a daemon does that takes over
		if err := g.Limit(doc); err != nil {
			t.Fatal(err)
		}
		if err := g.Place(doc); err != nil {
			t.Fatal(err)
		}
		check("pinned", map[string]string{"vcpu0": strconv.Itoa(first), "vcpu1": strconv.Itoa(last)}, map[string][]int{"vcpu0": {first}, "vcpu1": {last}})
	}
	// What a cgroup holds, nobody takes a thread out of: the kernel leaves it where it may run, or refuses.
	if err := g.Kernel.SetAffinity(g.Threads[0].TID, []int{last}); err == nil && first != last {
		t.Error("a thread was placed outside of its cgroup's processors")
	}
	if max, err := g.Kernel.ReadCgroup(filepath.Join(g.Cgroup, "vcpu1"), "cpu.max"); err != nil || max != "20000 50000" {
		t.Errorf("vcpu1's time: %q, %v", max, err)
	}
	free := tuned(t, "")
	if err := g.Limit(free); err != nil {
		t.Fatal(err)
	}
	if err := g.Place(free); err != nil {
		t.Fatal(err)
	}
	all := spec.FormatCPUSet(online)
	check("free", map[string]string{"vcpu0": all, "vcpu1": all}, map[string][]int{"vcpu0": online, "vcpu1": online})
}

// vcpuThreads waits until QEMU's processors have their threads, by the names that QEMU gives them.
func vcpuThreads(t *testing.T, g Guest) []tune.Thread {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		var out []tune.Thread
		tids, err := g.Kernel.Threads(g.PID)
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", g.PID, tid))
			if n, ok := strings.CutPrefix(string(comm), "CPU "); ok {
				out = append(out, tune.Thread{Name: tune.VCPUGroup + n[:1], TID: tid})
			}
		}
		if len(out) == 2 {
			return out
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("threads %v of QEMU: %v", tids, out)
		}
	}
}
