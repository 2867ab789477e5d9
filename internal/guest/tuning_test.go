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
