package guest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tuned is a document of a quarter gigabyte and four processors with something in it, and what its command line has
// between the name and the devices.
func tuned(t *testing.T, kind, inside string, change func(*Runtime)) (string, error) {
	t.Helper()
	doc := "<domain type='" + kind + "'><name>demo</name><memory unit='MiB'>256</memory><vcpu>4</vcpu>" +
		"<os><type machine='q35'>hvm</type></os>" + inside + "</domain>"
	if err := parse(t, []byte(doc)).Validate(); err != nil {
		return "", err
	}
	c, err := compiled(t, []byte(doc), change)
	if err != nil {
		return "", err
	}
	return lines(t, c.Config), nil
}

func TestAnEnlightenmentThatOnlyKVMHasIsRefusedWithoutIt(t *testing.T) {
	t.Parallel()
	const doc = "<features><hyperv><vpindex state='on'/></hyperv></features>"
	_, err := tuned(t, "qemu", doc, nil)
	want := "features/hyperv/vpindex is not supported: the number of a virtual processor is given by KVM only; use type='kvm', or leave it out"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	line, err := tuned(t, "kvm", doc, nil)
	if err != nil || !strings.Contains(line, ",hv-vpindex=on\n") {
		t.Errorf("under KVM: %v\n%s", err, line)
	}
}

func TestTheHostsOwnTablesAreHandedOn(t *testing.T) {
	t.Parallel()
	mode := func(rt *Runtime) {
		rt.HostSysinfo = HostSysinfo(map[string]string{"bios_vendor": "ACME", "product_name": "Box", "product_uuid": "secret", "board_name": "B"})
	}
	doc := []byte("<domain type='qemu'><name>demo</name><memory unit='MiB'>256</memory><vcpu>1</vcpu><os><type machine='q35'>hvm</type><smbios mode='host'/></os></domain>")
	c, err := compiled(t, doc, mode)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(lines(t, c.Config)) {
		if strings.HasPrefix(line, "-smbios") {
			got = append(got, line)
		}
	}
	want := []string{"-smbios type=0,vendor=ACME\n", "-smbios type=1,product=Box\n", "-smbios type=2,product=B\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = compiled(t, doc, nil)
	if want := "os/smbios is not supported: mode='host': this host has no SMBIOS (/sys/class/dmi/id); use mode='sysinfo'"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := HostSysinfo(nil); got != nil {
		t.Errorf("a host that says nothing has %+v", got)
	}
}

func TestMemoryThatDoesNotFitTogetherIsRefused(t *testing.T) {
	t.Parallel()
	const cells = "<features><acpi/></features><cpu><numa><cell cpus='0-3' memory='256' unit='MiB'/></numa></cpu>"
	dimm := func(target string) string {
		return "<devices><memory model='dimm'><target>" + target + "</target></memory></devices>"
	}
	for _, c := range []struct{ doc, want string }{
		{"<maxMemory slots='1' unit='GiB'>1</maxMemory>", "maxMemory is not supported: memory is plugged into NUMA cells; give the guest at least one (cpu/numa)"},
		{"<maxMemory slots='1' unit='MiB'>128</maxMemory>" + cells, "invalid maxMemory: 131072 KiB are less than the memory that there is, 262144 KiB"},
		{"<maxMemory slots='1' unit='GiB'>1</maxMemory>" + cells + dimm("<size unit='MiB'>64</size><node>1</node>"), "invalid memory/target: module 1: it needs the number of one of the guest's 1 NUMA cells in <node>"},
		{"<maxMemory slots='1' unit='GiB'>1</maxMemory>" + cells + dimm("<size unit='KiB'>1500</size><node>0</node>"), "invalid memory/target: module 1: 1500 KiB are no whole number of MiB"},
		{"<maxMemory slots='1' unit='GiB'>1</maxMemory>" + strings.Replace(cells, "<acpi/>", "", 1) + dimm("<size unit='MiB'>64</size><node>0</node>"), "memory is not supported: modules are found by ACPI; add <acpi/> to <features>"},
		{"<memoryBacking><hugepages><page size='2' unit='M' nodeset='1'/></hugepages></memoryBacking>", "invalid memoryBacking/hugepages/page: nodeset: the guest has no NUMA cell 1"},
		{"<memoryBacking><hugepages><page size='1' unit='G'/></hugepages></memoryBacking>", "memoryBacking/hugepages is not supported: 262144 KiB are no whole number of pages of 1048576 KiB"},
		{"<cputune><iothreadpin iothread='1' cpuset='0'/></cputune>", "cputune/iothreadpin is not supported: there is no I/O thread 1"},
		{"<devices><disk type='file'><driver iothread='1'/><source file='/a'/><target dev='vda'/></disk></devices>", "disk/driver is not supported: disk vda: there is no I/O thread 1; raise <iothreads>"},
		{"<iothreads>1</iothreads><devices><disk type='file'><driver iothread='1'/><source file='/a'/><target dev='sda'/></disk></devices>", "disk/driver is not supported: disk sda: an I/O thread is for bus='virtio'; that of a SCSI disk is its controller's"},
		{"<iothreads>1</iothreads><devices><controller type='scsi' model='lsilogic'><driver iothread='1'/></controller></devices>", `controller/driver is not supported: controller scsi 0: iothread="1" is for virtio-scsi, and one of <iothreads>`},
	} {
		_, err := tuned(t, "qemu", c.doc, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.doc, err, c.want)
		}
	}
}

func TestProcessorsInNoCellAreInTheFirst(t *testing.T) {
	t.Parallel()
	line, err := tuned(t, "qemu", "<cpu><numa><cell id='1' cpus='1' memory='64' unit='MiB'/><cell id='0' memory='64' unit='MiB'/></numa></cpu>", nil)
	for _, want := range []string{"-numa node,nodeid=0,cpus=0,cpus=2-3,memdev=ram-node0\n", "-numa node,nodeid=1,cpus=1,memdev=ram-node1\n", "-m size=128M\n"} {
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("no %q: %v\n%s", want, err, line)
		}
	}
}
