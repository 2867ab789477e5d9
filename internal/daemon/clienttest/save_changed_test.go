package clienttest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/wire"
	"taproom/internal/qemu/emutest"
)

// Rounds of changes and a save.
const (
	savedRounds    = 40
	changesOfRound = 5
)

// A guest that was changed while it ran goes on in the same machine after it was saved, whatever was changed: virtual CPUs,
// memory, devices, media; also when it was reset, and when its daemon was killed, in between. TAPROOM_SEED=n repeats an earlier run's choices.
func TestSave_RestoresAGuestThatWasChangedWhileItRan(t *testing.T) {
	t.Parallel()
	if os.Getenv("TAPROOM_LONG") == "" {
		t.Skip("takes minutes: set TAPROOM_LONG=1")
	}
	c := serve(t)
	seed, rounds := rand.Uint64(), savedRounds
	if v := os.Getenv("TAPROOM_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("TAPROOM_SEED: %v", err)
		}
	}
	t.Logf("TAPROOM_SEED=%d", seed)
	m := c.changeable()
	l := &liveChanges{machine: m, rand: rand.New(rand.NewPCG(seed, 4)), has: map[string]bool{}, vcpus: 1}
	l.booted = m.start()
	l.events = c.events()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("all changes:\n%s", strings.Join(l.done, "\n"))
		}
	})
	l.addVCPU() // in each run: with one more than it booted with, disks have another default number of queues
	for round := range rounds {
		for range changesOfRound {
			l.change()
		}
		l.saved(round)
		if now := askAgain[wire.Hello](m, wire.OpHello, wire.HelloWait{Seconds: 4 * emutest.Seconds()}).BootID; now != l.booted {
			t.Errorf("the guest has booted again: %s, before %s", now, l.booted)
		}
		if t.Failed() {
			t.Fatal(c.daemon.Said())
		}
	}
	m.do("destroy", "demo")
	m.do("undefine", "demo")
	m.do("net-destroy", "lab")
	m.do("net-undefine", "lab")
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// changeable installs the guest of plugging, with room for virtual CPUs and memory. It has what the modules cost besides: with 192 MiB
// its kernel gave up ("System is deadlocked on memory") once two modules and four virtual CPUs were there and the balloon had 25 MiB.
func (c *clients) changeable() *machine {
	m := c.install("<controller type='usb' model='none'/>", bootDevices,
		"<memory unit='MiB'>192</memory>", "<maxMemory slots='4' unit='MiB'>2048</maxMemory><memory unit='MiB'>320</memory>",
		"<vcpu>1</vcpu>", "<vcpu current='1'>4</vcpu>",
		"<features>", "<cpu mode='custom' match='exact'><model fallback='forbid'>qemu64</model><numa><cell id='0' cpus='0-3' memory='320' unit='MiB'/></numa></cpu><features>")
	for _, name := range []string{"more.img", "scsi.img", "usb.img", "first.iso", "second.iso"} {
		c.disk(name)
	}
	return m
}

// liveChanges changes a guest that runs at random.
type liveChanges struct {
	*machine
	rand   *rand.Rand
	events *transcript
	has    map[string]bool // by document of a device
	vcpus  int
	booted string // the guest's name of its boot
	done   []string
	// modules is the memory that was plugged in, in MiB: the guest counts it, whether its kernel uses it or not.
	modules int
}

// must does what cannot be refused.
func (l *liveChanges) must(args ...string) {
	l.t.Helper()
	l.done = append(l.done, strings.Join(args, " "))
	if out, code := l.run(l.virsh(args...)); code != 0 {
		l.t.Fatalf("after\n%s\nexit %d: %s\nthe daemon said: %s", strings.Join(l.done, "\n"), code, out, l.daemon.Said())
	}
}

// pool are the documents of devices that come and go.
func (l *liveChanges) pool() []string {
	disk := func(bus, target, file string) string {
		return l.fill("<disk type='file'><driver type='raw'/><source file='ROOT/work/" + file + "'/><target dev='" + target + "' bus='" + bus + "'/></disk>")
	}
	module := func(slot, mib int) string {
		return fmt.Sprintf("<memory model='dimm'><target><size unit='MiB'>%d</size><node>0</node></target><address type='dimm' slot='%d'/></memory>", mib, slot)
	}
	return []string{
		disk("virtio", "vdb", "more.img"), disk("scsi", "sda", "scsi.img"), disk("usb", "sdb", "usb.img"),
		"<interface type='network'><mac address='52:54:00:00:00:02'/><source network='lab'/><model type='virtio'/></interface>",
		"<interface type='network'><mac address='52:54:00:00:00:03'/><source network='lab'/><model type='virtio'/><driver queues='2'/></interface>",
		"<channel type='unix'><target type='virtio' name='org.example.0'/></channel>",
		"<rng model='virtio'><backend model='builtin'/></rng>",
		"<input type='tablet' bus='usb'/>",
		module(0, 128), module(1, 256), module(2, 128),
	}
}

// change makes one change.
func (l *liveChanges) change() {
	l.t.Helper()
	switch l.rand.IntN(8) {
	case 0:
		l.addVCPU()
	case 1:
		l.must("setmem", "demo", strconv.Itoa(320+l.modules-l.rand.IntN(32))+"M", "--live") // the guest has to live with it
	case 2:
		file := []string{"", "first.iso", "second.iso"}[l.rand.IntN(3)]
		if file == "" {
			l.done = append(l.done, "eject")
			l.run(l.virsh("change-media", "demo", "sdz", "--eject", "--live", "--force")) // nothing may be in it
			return
		}
		l.must("change-media", "demo", "sdz", l.fill("ROOT/work/"+file), "--update", "--live", "--force")
	case 3:
		if l.rand.IntN(2) == 0 {
			l.reset()
			return
		}
		l.done = append(l.done, "kill -9 of the daemon")
		l.restart("kill")
		l.client = l.daemon.Client()
		l.events = l.clients.events()
	default:
		pool := l.pool()
		l.plug(pool[l.rand.IntN(len(pool))])
	}
}

// reset boots the guest again in the machine that it has now.
func (l *liveChanges) reset() {
	l.t.Helper()
	l.must("reset", "demo")
	before := l.booted
	ctx, cancel := emutest.Context(l.t.Context())
	defer cancel()
	for l.booted == before { // until the firmware runs its agent answers as before
		if ctx.Err() != nil {
			l.t.Fatalf("the guest that was reset still says that its boot is %s", before)
		}
		l.booted = askAgain[wire.Hello](l.machine, wire.OpHello, wire.HelloWait{Seconds: 4 * emutest.Seconds()}).BootID
	}
}

// plug attaches a device that is not there, or detaches the one that is.
func (l *liveChanges) plug(doc string) {
	l.t.Helper()
	l.write("device.xml", doc)
	l.done = append(l.done, doc)
	if !l.has[doc] {
		if out, code := l.run(l.virsh("attach-device", "demo", "device.xml", "--live")); code != 0 {
			if !strings.Contains(out, "No more available PCI slots") {
				l.t.Fatalf("after\n%s\nexit %d: %s\nthe daemon said: %s", strings.Join(l.done, "\n"), code, out, l.daemon.Said())
			}
			return
		}
		l.has[doc] = true
		if n := sizeOfModule.FindStringSubmatch(doc); n != nil {
			mib, _ := strconv.Atoi(n[1])
			l.modules += mib
		}
		return
	}
	if strings.HasPrefix(doc, "<memory") {
		return // the guest's kernel has no say in it being used, and does not let go of it
	}
	l.events.forget()
	l.must("detach-device", "demo", "device.xml", "--live")
	removed := "event 'device-removed' for domain 'demo': "
	l.events.until(removed, func(line string) bool { return strings.HasPrefix(line, removed) }) // the guest may take its time
	l.has[doc] = false
}

// addVCPU plugs one more virtual CPU. An emulated guest of QEMU 7.2 is not let go of one (see the engine's unplugsEmulated).
func (l *liveChanges) addVCPU() {
	l.t.Helper()
	if l.vcpus < 4 {
		l.vcpus++
		l.must("setvcpus", "demo", strconv.Itoa(l.vcpus), "--live")
	}
}

// saved saves the guest in one of two ways, restores it, and compares what it is.
func (l *liveChanges) saved(round int) {
	l.t.Helper()
	doc, disks, cpus := l.live(), l.disks(), l.cpus()
	if (round+int(l.rand.Uint64()))%2 == 0 {
		l.must("managedsave", "demo")
		l.must("start", "demo")
	} else {
		l.must("save", "demo", "image")
		l.must("restore", "image")
	}
	told := strings.Join(l.done, "\n")
	if d := cmp.Diff(doc, l.live()); d != "" {
		l.t.Errorf("the document of the restored guest is different (-saved +restored):\n%s\nafter\n%s", d, told)
	}
	now := l.disks()
	for _, disk := range disks { // one that was just plugged in it may have found since
		if !slices.Contains(now, disk) {
			l.t.Errorf("the guest saw %s, and sees %q, after\n%s", disk, now, told)
		}
	}
	if n := l.cpus(); n < cpus {
		l.t.Errorf("the guest sees %d virtual CPUs, and saw %d, after\n%s", n, cpus, told)
	}
}

// ofRun is what a document says of one run, and what the guest's balloon holds, which the guest fills at its own pace.
var ofRun = regexp.MustCompile(`<domain [^>]*>|portid='[^']*'|/dev/pts/[0-9]+|vnet[0-9]+|index='[0-9]+'|<backingStore/>| base='[^']*'|state='[a-z]*'|label>[^<]*<|<currentMemory[^\n]*`)

// sizeOfModule finds the size of a memory module, in MiB.
var sizeOfModule = regexp.MustCompile(`<size unit='MiB'>([0-9]+)<`)

// live is the guest's document without what belongs to the run alone.
func (l *liveChanges) live() string {
	return ofRun.ReplaceAllString(l.do("dumpxml", "demo"), "")
}

// disks are those that the guest sees, but for the drive of media: it looks at a medium when that is next used.
func (l *liveChanges) disks() []string {
	l.t.Helper()
	var out []string
	for _, b := range askAgain[[]wire.Block](l.machine, wire.OpBlocks, nil) {
		if b.CDROM {
			continue
		}
		out = append(out, fmt.Sprintf("%+v", b))
	}
	slices.Sort(out)
	return out
}

// cpus is how many virtual CPUs the guest sees.
func (l *liveChanges) cpus() int {
	l.t.Helper()
	return askAgain[wire.System](l.machine, wire.OpSystem, nil).CPUs
}

// askAgain is ask of a guest that was just restored: its agent may close the port once when it sees it opened anew.
func askAgain[T any](m *machine, op wire.Op, args any) (answer T) {
	m.t.Helper()
	ctx, cancel := emutest.Context(m.t.Context())
	defer cancel()
	request, err := json.Marshal(map[string]any{"op": op, "args": args})
	if err != nil {
		m.t.Fatal(err)
	}
	for {
		reply, err := m.client.Agent(ctx, m.name, request)
		if err == nil {
			err = json.Unmarshal(reply, &answer)
		}
		if err == nil {
			return answer
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "connection to the guest's agent is closed") {
			m.t.Fatalf("ask the guest for %s: %v\nthe daemon said: %s", op, err, m.daemon.Said())
		}
	}
}
