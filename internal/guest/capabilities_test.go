package guest

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taproom/internal/spec"
)

func capFacts() CapFacts {
	u := spec.UUID{1}
	host := pcHost()
	host.Firmware = nil // libvirt's answers are of a host without ovmf
	host.KVM = errors.New("the CPU has neither vmx nor svm")
	return CapFacts{
		Companions: Companions{SWTPM: true, VirtioFSD: true}, Host: host, UUID: &u, CPUModel: "EPYC", CPUVendor: "AMD", CPUFlags: []string{"aes", "avx"},
		Topology: &spec.Topology{Sockets: "1", Dies: "1", Cores: "2", Threads: "1"}, PageSizes: []uint64{4, 2048},
		Cells: []Cell{{MemoryKiB: 6383828, CPUs: []HostCPU{{ID: 0}, {ID: 1, Core: 1}}}},
		Models: map[string][]CPUModel{"tcg": {
			{Name: "qemu64", Usable: true}, {Name: "EPYC", Vendor: "AMD"}, {Name: "Opteron_G1", Usable: true, Vendor: "AMD", Deprecated: true},
		}},
	}
}

func TestCapabilitiesDocument(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "capabilities", "host", "host.txtar")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, path, "taproom.xml", string(Capabilities(capFacts()).Format()))
}

// offers reads the values of a document by element and attribute: disk/bus.
func offers(doc string) map[string][]string {
	line := regexp.MustCompile(`<(\w+) supported='yes'>|<enum name='(\w+)'>|<value>(.*?)</value>`)
	out := map[string][]string{}
	var element, attribute string
	for _, m := range line.FindAllStringSubmatch(doc, -1) {
		switch {
		case m[1] != "":
			element = m[1]
		case m[2] != "":
			attribute = m[2]
		default:
			out[element+"/"+attribute] = append(out[element+"/"+attribute], m[3])
		}
	}
	return out
}

// What we offer is never more than what libvirt offers for the same QEMU, except where libvirt 9.0 knows nothing of the
// attribute: clients choose from these lists.
func TestDomainCapabilitiesOfferNothingThatLibvirtWouldNot(t *testing.T) {
	t.Parallel()
	cases(t, "capabilities", func(t *testing.T, path string, files map[string][]byte) {
		machine := strings.TrimSuffix(filepath.Base(path), ".txtar")
		doc, err := DomainCapabilities(capFacts(), "", machine, "qemu")
		if err != nil {
			t.Fatal(err)
		}
		got := string(doc.Format())
		golden(t, path, "taproom.xml", got)
		theirs := offers(string(files["libvirt-9.0.xml"]))
		delete(theirs, "tpm/backendModel") // its host had no swtpm
		for what, values := range offers(got) {
			for _, v := range values {
				if theirs[what] != nil && !slices.Contains(theirs[what], v) {
					t.Errorf("%s: we offer %q, libvirt has %v", what, v, theirs[what])
				}
			}
		}
	})
}

func TestDomainCapabilitiesRefuseWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arch, machine, virtType, want string }{
		{"riscv64", "", "", `arch is not supported: "riscv64" is not implemented; use x86_64`},
		{"", "", "kvm", "domain is not supported: type='kvm' cannot run on this host: the CPU has neither vmx nor svm"},
		{"", "", "xen", `domain is not supported: type="xen" is not implemented; use kvm or qemu`},
		{"", "virt", "", `machine is not supported: emulator /usr/bin/qemu-system-x86_64 has no machine "virt"`},
		{"", "isapc", "", `os/type is not supported: machine "isapc" is not implemented; use pc, q35 or microvm`},
	} {
		_, err := DomainCapabilities(capFacts(), c.arch, c.machine, c.virtType)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q %q %q: got %v, want %s", c.arch, c.machine, c.virtType, err, c.want)
		}
	}
}

// A session's guests have no user of their own, so there is no label to choose.
func TestOneUserHasNoLabels(t *testing.T) {
	t.Parallel()
	for one, want := range map[bool]int{false: 2, true: 1} {
		if got := Capabilities(CapFacts{OneUser: one}).Host.SecModels; len(got) != want || got[0].Model != "none" {
			t.Errorf("one user %v: %+v", one, got)
		}
	}
}
