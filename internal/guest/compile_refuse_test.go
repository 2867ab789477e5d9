package guest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/spec"
)

// document wraps devices and other elements into a domain.
func document(machine, outside, devices string) []byte {
	return fmt.Appendf(nil, "<domain type='qemu'><name>demo</name><memory unit='MiB'>32</memory><vcpu>2</vcpu>"+
		"<os><type machine='%s'>hvm</type></os>%s<devices>%s</devices></domain>", machine, outside, devices)
}

// compiled is what becomes of a document, or why nothing does.
func compiled(t *testing.T, doc []byte, change func(*Runtime)) (*Compiled, error) {
	t.Helper()
	d := parse(t, doc)
	if err := Complete(d, pcHost()); err != nil {
		return nil, err
	}
	rt := testRuntime(d)
	if change != nil {
		change(&rt)
	}
	return Compile(d, rt)
}

func TestCompileRefusesWhatQEMUCannotDo(t *testing.T) {
	t.Parallel()
	disk := func(inside string) string {
		return "<disk type='file'>" + inside + "<source file='/a'/><target dev='vda'/></disk>"
	}
	for _, c := range []struct{ name, outside, devices, want string }{
		{
			"threads that do not multiply to the CPUs", "<cpu><topology sockets='1' cores='3' threads='1'/></cpu>", "",
			"cpu/topology is not supported: sockets, dies, cores and threads multiply to 3, but there are 2 vcpus",
		},
		{
			"a topology of no cores", "<cpu><topology sockets='1' cores='0' threads='1'/></cpu>", "",
			`invalid cpu/topology: cores="0" is no number from 1`,
		},
		{
			"a policy nobody knows", "<cpu mode='maximum'><feature policy='maybe' name='aes'/></cpu>", "",
			`invalid cpu/feature: policy="maybe" of aes is none of require, force, optional, disable, forbid`,
		},
		{
			"native I/O through the page cache", "", disk("<driver io='native'/>"),
			"disk/driver is not supported: disk vda: io='native' bypasses the page cache; use it with cache='none' or 'directsync'",
		},
		{
			"a cache mode nobody knows", "", disk("<driver cache='fast'/>"),
			`invalid disk/driver: disk vda: cache="fast" is none of none, writethrough, writeback, directsync, unsafe`,
		},
		{
			"an image format that is not implemented", "", disk("<driver type='vmdk'/>"),
			`disk/driver is not supported: disk vda: format "vmdk" is not implemented; use raw or qcow2`,
		},
		{
			"a raw image on top of another", "", disk("<backingStore type='file'><format type='raw'/><source file='/b'/></backingStore>"),
			"invalid disk/backingStore: disk vda: a raw image has no backing image",
		},
		{
			"a backing image whose format would have to be guessed", "", disk("<driver type='qcow2'/><backingStore type='file'><source file='/b'/></backingStore>"),
			"invalid disk/backingStore: disk vda: a backing image needs a source and a format",
		},
		{"a name that is no number", "", disk("<wwn>cat</wwn>"), `invalid disk/wwn: disk vda: "cat" is no 64-bit hexadecimal number`},
		{
			"a watchdog that dumps", "", "<watchdog model='i6300esb' action='dump'/>",
			`watchdog is not supported: action="dump" is not implemented; use reset, shutdown, poweroff, pause, none or inject-nmi`,
		},
		{
			"a socket path that does not fit", "", "<serial type='unix'><source mode='bind' path='/" + strings.Repeat("x", 107) + "'/></serial>",
			"invalid serial0: socket path /" + strings.Repeat("x", 107) + " is longer than 107 bytes",
		},
		{"a serial port on the network", "", "<serial type='udp'/>", `serial0 is not supported: type="udp" is not implemented; use pty, unix, file, null, vc, dev, tcp, spiceport or spicevmc`},
		{
			"a rate of nothing", "", "<rng model='virtio'><rate bytes='0'/><backend model='builtin'/></rng>",
			`invalid rng/rate: bytes="0" in period="" ms is no rate`,
		},
		{
			"an MTU below IPv4's", "", "<interface type='user'><model type='virtio'/><mtu size='20'/></interface>",
			`invalid interface/mtu: interface 52:54:00:00:00:ff: size="20" is none between 68 and 65535`,
		},
		{"a clock that is no time", "<clock offset='absolute' start='noon'/>", "", `invalid clock: start="noon" is no number of seconds since 1970`},
	} {
		_, err := compiled(t, document("q35", c.outside, c.devices), nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestCompleteRefusesWhatWouldBeLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ machine, outside, devices, want string }{
		{
			"q35", "<clock><timer name='rtc' tickpolicy='merge'/></clock>", "",
			`clock/timer is not supported: rtc: tickpolicy="merge" is not possible; use delay or catchup`,
		},
		{
			"q35", "<clock><timer name='hpet' tickpolicy='catchup'/></clock>", "",
			`clock/timer is not supported: hpet: tickpolicy="catchup" is not possible; use delay`,
		},
		{
			"q35", "<clock offset='localtime' adjustment='60'/>", "",
			`clock is not supported: offset='localtime' with adjustment="60" is not implemented; use offset='variable'`,
		},
		{"q35", "<clock offset='variable' adjustment='reset'/>", "", "invalid clock: adjustment='reset' is for offset='utc' and offset='localtime'"},
		{
			"q35", "<cpu><topology sockets='1' dies='1' clusters='2' cores='1' threads='1'/></cpu>", "",
			`cpu/topology is not supported: clusters="2": PCs have no clusters`,
		},
		{
			"microvm", "", "<memballoon model='virtio-transitional'/>",
			`memballoon is not supported: model="virtio-transitional" is not implemented; use virtio or none`,
		},
		{
			"microvm", "", "<controller type='virtio-serial' model='virtio-non-transitional'/>",
			"controller is not supported: controller virtio-serial 0: machine microvm has no PCI bus",
		},
		{
			"q35", "", "<controller type='scsi' model='lsilogic'><driver queues='2'/></controller>",
			"controller/driver is not supported: controller scsi 0: queues are for virtio-scsi",
		},
		{
			"pc", "", "<controller type='pci' index='256' model='pci-bridge'/>",
			`invalid controller: index="256" of a pci controller is no number up to 255`,
		},
		{
			"pc", "", "<controller type='scsi' index='4096'/>",
			`invalid controller: index="4096" of a scsi controller is no number up to 4095`,
		},
		{
			"q35", "", "<controller type='virtio-serial'><driver queues='2'/></controller>",
			"controller/driver is not supported: controller virtio-serial 0: queues are for virtio-scsi",
		},
		{
			"q35", "", "<disk type='file'><driver io='native'/><source file='/a'/><target dev='vda'/></disk>",
			"disk/driver is not supported: disk vda: io='native' bypasses the page cache; use it with cache='none' or 'directsync'",
		},
		{
			"q35", "", "<disk type='file'><source file='/a'/><backingStore type='file'><format type='raw'/><source file='/b'/></backingStore><target dev='vda'/></disk>",
			"invalid disk/backingStore: disk vda: a raw image has no backing image",
		},
		{
			"q35", "", "<disk type='file'><driver queues='2'/><source file='/a'/><target dev='sda' bus='sata'/></disk>",
			"disk/driver is not supported: disk sda: queues are for bus='virtio'",
		},
	} {
		err := Complete(parse(t, document(c.machine, c.outside, c.devices)), pcHost())
		if err == nil || err.Error() != c.want {
			t.Errorf("%s%s:\n got %v\nwant %s", c.outside, c.devices, err, c.want)
		}
	}
}

func TestCompileRefusesADocumentThatWasNotCompleted(t *testing.T) {
	t.Parallel()
	_, err := Compile(parse(t, document("q35", "", "")), Runtime{Accel: "tcg"})
	if want := "invalid domain: demo was not completed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCompileNeedsATapForEveryBridgedNIC(t *testing.T) {
	t.Parallel()
	_, err := compiled(t, document("q35", "", "<interface type='bridge'><source bridge='br0'/></interface>"), func(rt *Runtime) { rt.NICs = nil })
	if want := "invalid interface: interface 52:54:00:00:00:ff: no tap was prepared for it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestStartupHoldsWhatTheCommandLineCannotSay(t *testing.T) {
	t.Parallel()
	c, err := compiled(t, document("q35", "<currentMemory unit='MiB'>16</currentMemory>",
		"<interface type='bridge'><source bridge='br0'/><model type='virtio'/><link state='down'/></interface>"+
			"<graphics type='vnc' passwd='secret'/><memballoon model='virtio'><stats period='5'/></memballoon>"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Startup{
		LinksDown: []string{"net0"}, BalloonPath: "/machine/peripheral/balloon0", BalloonPeriod: 5, BalloonBytes: 16 << 20, Passwords: []DisplayPassword{{Protocol: "vnc", Password: "secret", Expires: "never"}},
	}
	if diff := cmp.Diff(want, c.Startup); diff != "" {
		t.Errorf("startup (-want +got):\n%s", diff)
	}
	if line := lines(t, c.Config); strings.Contains(line, "secret") || !strings.Contains(line, "-vnc 127.0.0.1:7,password=on") {
		t.Errorf("the password's place is not the command line:\n%s", line)
	}
}

func TestAcceleratorDecidesWhatHostCPUMeans(t *testing.T) {
	t.Parallel()
	for accel, want := range map[string]string{"tcg": "-cpu max,aes=on\n", "kvm": "-cpu host,migratable=on,aes=on\n"} {
		c, err := compiled(t, document("q35", "<cpu mode='host-passthrough'><feature policy='require' name='aes'/></cpu>", ""), func(rt *Runtime) { rt.Accel = accel })
		if err != nil {
			t.Fatal(err)
		}
		if line := lines(t, c.Config); !strings.Contains(line, want) || !strings.Contains(line, "-accel "+accel+"\n") {
			t.Errorf("%s: no %q in\n%s", accel, want, line)
		}
	}
}

// What Complete and Live write has to be valid: it comes back when a user edits it.
func TestCompletedAndLiveDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"define", "only", "live", "devices"} {
		cases(t, dir, func(t *testing.T, _ string, files map[string][]byte) {
			d := parse(t, files["domain.xml"])
			var refused *spec.UnsupportedError
			if errors.As(d.Validate(), &refused) {
				return // never gets here
			}
			if err := Complete(d, pcHost()); err != nil {
				t.Fatal(err)
			}
			for what, x := range map[string]*spec.Domain{"completed": d, "live": Live(d, testRuntime(d), LiveFacts{ID: 1, Label: "+1:+1"}, true)} {
				if err := parse(t, x.Format()).Validate(); err != nil {
					t.Errorf("%s document: %v\n%s", what, err, x.Format())
				}
			}
		})
	}
}
