package guest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// crowd is a document with so many virtio NICs of so many queues, completed and named.
func crowd(t *testing.T, nics, queues int, vcpus string) *spec.Domain {
	t.Helper()
	nic := "<interface type='bridge'><source bridge='br0'/><model type='virtio'/>" + fmt.Sprintf("<driver queues='%d'/>", queues) + "</interface>"
	d, err := spec.ParseDomain([]byte("<domain type='qemu'><name>x</name><memory>32768</memory>" + vcpus +
		"<os><type machine='q35'>hvm</type></os><devices>" + strings.Repeat(nic, nics) + "</devices></domain>"))
	if err != nil {
		t.Fatal(err)
	}
	return completed(t, d)
}

func completed(t *testing.T, d *spec.Domain) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain(d.Format())
	if err != nil {
		t.Fatal(err)
	}
	if err := Complete(d, pcHost()); err != nil {
		t.Fatal(err)
	}
	return d
}

// vectorsOf are the different ones that the command line gives the NICs; "" is what QEMU gives.
func vectorsOf(t *testing.T, d *spec.Domain) string {
	t.Helper()
	named, err := spec.ParseDomain(d.Format())
	if err != nil {
		t.Fatal(err)
	}
	if err := Name(named); err != nil {
		t.Fatal(err)
	}
	c, err := neutral(named)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, p := range c.Devices {
		if v, ok := vectorsIn(p); ok && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return strings.Join(seen, " ")
}

func vectorsIn(p qemu.Props) (vectors string, nic bool) {
	for _, x := range p {
		switch x.Key {
		case "vectors":
			vectors = fmt.Sprint(x.Value)
		case "driver":
			nic = x.Value == "virtio-net-pci"
		}
	}
	return vectors, nic
}

func TestNICsHaveFewerInterruptsWhereProcessorsHaveNotEnoughOfThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nics, queues int
		vcpus        string
		want         string
		says         string
	}{
		{33, 1, "", "", ""},
		{41, 1, "", "2", "its 41 virtio NICs would take 123 interrupts by message, and its other devices leave 113 of those of 1 processor: so the queues of each share one; with 2 processors they all have their own"},
		{82, 1, "", "0", "so they have no MSI-X and share the lines of PCI; with 2 processors they all have their own"},
		{82, 1, "<vcpu>2</vcpu>", "", ""},
		{82, 1, "<vcpu current='1'>2</vcpu>", "0", "of those of 1 processor:"},
		{82, 4, "<vcpu>2</vcpu>", "2", "with 5 processors they all have their own"},
		{82, 4, "<vcpu>5</vcpu>", "10", ""},
		{8, 8, "", "18", ""},
		{12, 8, "", "2", ""},
	} {
		d := crowd(t, c.nics, c.queues, c.vcpus)
		what := fmt.Sprintf("%d NICs with %d queues, %s", c.nics, c.queues, c.vcpus)
		if got := vectorsOf(t, d); got != c.want {
			t.Errorf("%s: they have %q, want %q", what, got, c.want)
		}
		if got := Crowded(d); !strings.Contains(got, c.says) || (got == "") != (c.want != "2" && c.want != "0") {
			t.Errorf("%s: it says %q, want %q", what, got, c.says)
		}
		if again := completed(t, d); string(again.Format()) != string(d.Format()) {
			t.Errorf("%s: completed again it is another document", what)
		}
	}
}

// With processors enough the next definition has all of them again; and a definition of an earlier build, with which a guest
// may have been saved, stays as it is.
func TestHowManyInterruptsNICsHaveFollowsTheDefinition(t *testing.T) {
	t.Parallel()
	d := crowd(t, 82, 1, "")
	d.VCPU.Value = "2"
	if got := vectorsOf(t, completed(t, d)); got != "" {
		t.Errorf("with a second processor they have %q", got)
	}
	d = crowd(t, 82, 1, "")
	d.Metadata = nil
	d = completed(t, d)
	if got := vectorsOf(t, d); got != "" {
		t.Errorf("a definition of an earlier build: they have %q", got)
	}
	if got := Crowded(d); !strings.Contains(got, "those that find none left do not work") {
		t.Errorf("a definition of an earlier build: it says %q", got)
	}
}

// A NIC that is plugged into a guest that runs has as many as the others, which cannot change.
func TestANICThatIsPluggedInHasAsManyInterruptsAsTheOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		had  int
		want string
	}{{37, ""}, {41, "2"}} {
		d := crowd(t, c.had, 1, "")
		more := d.Devices.Interfaces[0]
		more.MAC, more.Address = nil, nil
		d.Devices.Interfaces = append(d.Devices.Interfaces, more)
		d, err := spec.ParseDomain(d.Format())
		if err != nil {
			t.Fatal(err)
		}
		if err := CompleteRunning(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		if got := vectorsOf(t, d); got != c.want {
			t.Errorf("one more than %d: they have %q, want %q", c.had, got, c.want)
		}
	}
}
