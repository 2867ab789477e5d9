package clienttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/spec"
)

// tunedGuest is a guest of two processors and two I/O threads that stands still, with something in its document.
func tunedGuest(inside string) string {
	return "<domain type='qemu'><name>tuned</name><uuid>00000000-0000-4000-8000-0000000000d1</uuid><memory unit='MiB'>16</memory>" +
		inside + "<iothreads>2</iothreads><os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features></domain>"
}

// qemuOf is the process of a guest's QEMU.
func (c *clients) qemuOf(uuid string) int {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.daemon.Paths().Guest(uuid), "pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), `"pid":`)
	number, _, _ := strings.Cut(rest, ",")
	pid, err := strconv.Atoi(number)
	if err != nil {
		c.t.Fatalf("pid file %q: %v", b, err)
	}
	return pid
}

// threads are the CPUs of each kind of thread of a QEMU, by their names: "CPU 0/TCG", "IO iothread1", others as "".
func (c *clients) threads(pid int) map[string]string {
	c.t.Helper()
	k := host.New(host.Options{})
	tids, err := k.Threads(pid)
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]string{}
	for _, tid := range tids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
		if err != nil {
			continue // it has just ended
		}
		cpus, err := k.Affinity(tid)
		if err != nil {
			continue
		}
		name := strings.TrimSpace(string(b))
		if !strings.HasPrefix(name, "CPU") && !strings.HasPrefix(name, "IO ") {
			name = ""
		}
		out[name] = spec.FormatCPUSet(cpus)
	}
	return out
}

// Where threads run is the document's to say, at the start and while the guest runs.
func TestThreadsRunWhereTheyArePinned(t *testing.T) {
	t.Parallel()
	online, err := host.New(host.Options{}).OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	first, last, all := strconv.Itoa(online[0]), strconv.Itoa(online[len(online)-1]), spec.FormatCPUSet(online)
	c := serve(t)
	c.write("tuned.xml", tunedGuest("<vcpu cpuset='"+all+"'>2</vcpu><cputune><vcpupin vcpu='0' cpuset='"+last+"'/><emulatorpin cpuset='"+first+"'/><iothreadpin iothread='2' cpuset='"+last+"'/></cputune>"))
	c.do("define", "tuned.xml")
	c.do("start", "tuned", "--paused")
	pid := c.qemuOf("00000000-0000-4000-8000-0000000000d1")
	got := c.threads(pid)
	for name, want := range map[string]string{"CPU 0/TCG": last, "CPU 1/TCG": all, "IO iothread1": all, "IO iothread2": last, "": first} {
		if got[name] != want {
			t.Errorf("thread %q runs on %q, want %s (all: %v)", name, got[name], want, got)
		}
	}
	c.do("vcpupin", "tuned", "1", first, "--live", "--config")
	c.do("emulatorpin", "tuned", last)
	c.do("iothreadpin", "tuned", "1", first)
	got = c.threads(pid)
	for name, want := range map[string]string{"CPU 0/TCG": last, "CPU 1/TCG": first, "IO iothread1": first, "IO iothread2": last, "": last} {
		if got[name] != want {
			t.Errorf("after a change thread %q runs on %q, want %s (all: %v)", name, got[name], want, got)
		}
	}
	shows := func(want string, args ...string) {
		t.Helper()
		if out := strings.Join(strings.Fields(c.do(args...)), " "); !strings.Contains(out, want) {
			t.Errorf("virsh %q: %s, want %s", args, out, want)
		}
	}
	shows("0 "+last+" 1 "+first, "vcpupin", "tuned")
	shows("0 "+last+" 1 "+first, "vcpupin", "tuned", "--config")
	shows("*: "+last, "emulatorpin", "tuned")
	shows("*: "+first, "emulatorpin", "tuned", "--config")
	shows("1 "+first+" 2 "+last, "iothreadinfo", "tuned")
	shows("1 "+all+" 2 "+last, "iothreadinfo", "tuned", "--config")
	shows("0:", "freecell", "--all")

	// The next daemon knows, and what cannot be leaves everything as it was.
	c.restart("kill")
	shows("0 "+last+" 1 "+first, "vcpupin", "tuned")
	if out, code := c.run(c.virsh("vcpupin", "tuned", "7", first)); code == 0 || !strings.Contains(out, "vcpu 7 is out of range") {
		t.Errorf("a processor that is not there: exit %d: %s", code, out)
	}
	if again := c.threads(pid); again["CPU 1/TCG"] != first || again[""] != last {
		t.Errorf("threads run on %v", again)
	}
}

// What the host's cgroups cannot do is refused by the controller's name; where they can, the files say it.
func TestALimitIsSetOrItsControllerIsNamed(t *testing.T) {
	t.Parallel()
	c := serve(t)
	root, err := host.New(host.Options{}).CgroupRoot()
	if err != nil {
		t.Fatal(err)
	}
	has, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		t.Fatal(err)
	}
	controllers := strings.Fields(string(has))
	for _, l := range []struct{ controller, inside, file, value string }{
		{"cpu", "<cputune><shares>512</shares></cputune>", "cpu.weight", "512"},
		{"memory", "<memtune><hard_limit unit='GiB'>1</hard_limit></memtune>", "memory.max", "1073741824"},
		{"io", "<blkiotune><weight>200</weight></blkiotune>", "io.weight", "default 200"},
	} {
		c.write("tuned.xml", tunedGuest("<vcpu>1</vcpu>"+l.inside))
		c.do("define", "tuned.xml")
		out, code := c.run(c.virsh("start", "tuned", "--paused"))
		if !slices.Contains(controllers, l.controller) {
			want := "error: unsupported configuration: domain 'tuned': limit " + l.file + ": this kernel has no " + l.controller + " controller of cgroup v2 in " + root
			if code == 0 || !strings.Contains(out, want) {
				t.Errorf("start with %s: exit %d: %s\nwant %s", l.inside, code, out, want)
			}
			continue
		}
		if code != 0 {
			t.Errorf("start with %s: %s", l.inside, out)
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.cgroupOf("00000000-0000-4000-8000-0000000000d1"), l.file))
		if got := strings.TrimSpace(string(b)); got != l.value {
			t.Errorf("%s has %q, %v; want %s", l.file, got, err, l.value)
		}
		c.do("destroy", "tuned")
	}
}

// cgroupOf is the cgroup v2 that a guest's QEMU is in.
func (c *clients) cgroupOf(uuid string) string {
	c.t.Helper()
	root, err := host.New(host.Options{}).CgroupRoot()
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.qemuOf(uuid)))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(root, path)
		}
	}
	c.t.Fatalf("QEMU is in no cgroup v2: %s", b)
	return ""
}

// A thread that is scheduled otherwise.
func TestThreadsAreScheduledAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("tuned.xml", tunedGuest("<vcpu>1</vcpu><cputune><iothreadsched iothreads='1' scheduler='batch'/></cputune>"))
	c.do("define", "tuned.xml")
	c.do("start", "tuned", "--paused")
	pid := c.qemuOf("00000000-0000-4000-8000-0000000000d1")
	k := host.New(host.Options{})
	tids, err := k.Threads(pid)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, tid := range tids {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid)); err == nil {
			if s, err := k.Scheduling(tid); err == nil {
				got[strings.TrimSpace(string(b))] = s.Policy
			}
		}
	}
	if got["IO iothread1"] != unix.SCHED_BATCH || got["IO iothread2"] != unix.SCHED_NORMAL {
		t.Errorf("policies are %v", got)
	}
}
