package clienttest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"taproom/internal/host"
)

// Clients that listen hear of what was changed of a guest that runs, and of nothing that was changed in a definition.
func TestChangesOfWhatAGuestGetsAreTold(t *testing.T) {
	t.Parallel()
	online, err := host.New(host.Options{}).OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	cpu := strconv.Itoa(online[0])
	c := serve(t)
	c.write("tuned.xml", strings.Replace(tunedGuest("<vcpu>1</vcpu>"), "</domain>",
		"<devices><disk type='file'><source file='"+c.work+"/disk.img'/><target dev='vda' bus='virtio'/></disk></devices></domain>", 1))
	c.do("define", "tuned.xml")
	c.do("start", "tuned", "--paused")
	events := c.events()
	c.do("schedinfo", "tuned", "--config", "--set", "cpu_shares=50")
	c.do("vcpupin", "tuned", "0", cpu, "--live")
	c.do("emulatorpin", "tuned", cpu, "--live")
	c.do("iothreadpin", "tuned", "2", cpu, "--live")
	c.do("schedinfo", "tuned", "--live", "--set", "vcpu_quota=-1")
	c.do("blkdeviotune", "tuned", "vda", "--total-bytes-sec", "1000000", "--live")
	c.do("destroy", "tuned")
	events.line("event 'lifecycle' for domain 'tuned': Stopped Destroyed")
	got := events.all()
	want := fmt.Sprintf(`event 'tunable' for domain 'tuned':
	cputune.vcpupin0: %[1]s
event 'tunable' for domain 'tuned':
	cputune.emulatorpin: %[1]s
event 'tunable' for domain 'tuned':
	cputune.iothreadpin2: %[1]s
event 'tunable' for domain 'tuned':
	cputune.vcpu_quota: -1
event 'tunable' for domain 'tuned':
	blkdeviotune.disk: vda
	blkdeviotune.total_bytes_sec: 1000000
`, cpu)
	if !strings.Contains(got, want) || strings.Contains(got, "shares") {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What the host's cgroups cannot do changes nothing, and where they can, the kernel has it.
func TestAParameterOfAGuestThatRunsIsSetOrItsControllerIsNamed(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("tuned.xml", tunedGuest("<vcpu>1</vcpu>"))
	c.do("define", "tuned.xml")
	c.do("start", "tuned", "--paused")
	root, err := host.New(host.Options{}).CgroupRoot()
	if err != nil {
		t.Fatal(err)
	}
	has, err := os.ReadFile(root + "/cgroup.controllers")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		controller, file, value, shows, showed string
		args                                   []string
	}{
		{"cpu", "cpu.weight", "512", ": 512\n", ": 100\n", []string{"schedinfo", "tuned", "--set", "cpu_shares=512"}},
		{"memory", "memory.max", "1073741824", "hard_limit     : 1048576\n", "hard_limit     : unlimited\n", []string{"memtune", "tuned", "--hard-limit", "1048576"}},
		{"io", "io.weight", "default 200", ": 200\n", ": 100\n", []string{"blkiotune", "tuned", "--weight", "200"}},
	} {
		out, code := c.run(c.virsh(append(l.args, "--live")...))
		now := c.do(l.args[0], "tuned", "--live")
		if !strings.Contains(" "+string(has)+" ", l.controller) {
			if want := "limit " + l.file + ": this kernel has no " + l.controller + " controller of cgroup v2"; code == 0 || !strings.Contains(out, want) {
				t.Errorf("virsh %q: exit %d: %s\nwant %s", l.args, code, out, want)
			}
			if !strings.Contains(now, l.showed) {
				t.Errorf("after that was refused:\n%s", now)
			}
			continue
		}
		b, err := os.ReadFile(c.cgroupOf("00000000-0000-4000-8000-0000000000d1") + "/" + l.file)
		if got := strings.TrimSpace(string(b)); code != 0 || got != l.value || !strings.Contains(now, l.shows) {
			t.Errorf("virsh %q: exit %d: %s\n%s has %q, %v; shown:\n%s", l.args, code, out, l.file, got, err, now)
		}
	}

	// Figures of the host and of what a guest has used, which differ from one time to the next.
	for _, q := range []struct{ args, want string }{
		{"cpu-stats tuned --total", "cpu_time"},
		{"freepages --pagesize 4 --cellno 0", "KiB: "},
		{"freepages --all", "KiB: "},
	} {
		if out := c.do(strings.Fields(q.args)...); !strings.Contains(out, q.want) {
			t.Errorf("virsh %s: %s, want %s", q.args, out, q.want)
		}
	}
	c.refused("cgroup v2 does not count the time of each CPU", "cpu-stats", "tuned")
	c.refused("this host has no NUMA cell 99", "freepages", "--pagesize", "4", "--cellno", "99")
}
