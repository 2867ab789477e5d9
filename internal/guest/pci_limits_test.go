package guest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taproom/internal/spec"
)

// manyNICs is a completed document with so many NICs.
func manyNICs(t *testing.T, machine, model string, nics int, more string) (*spec.Domain, error) {
	t.Helper()
	d, err := spec.ParseDomain([]byte("<domain type='qemu'><name>x</name><memory>32768</memory><os><type machine='" + machine + "'>hvm</type>" + more + "</os><devices>" +
		strings.Repeat("<interface type='user'><model type='"+model+"'/></interface>", nics) + "</devices></domain>"))
	if err != nil {
		t.Fatal(err)
	}
	return d, Complete(d, pcHost())
}

// buses counts a document's PCI controllers by model.
func buses(d *spec.Domain) string {
	count := map[string]int{}
	for _, k := range d.Devices.Controllers {
		if k.Type == "pci" {
			count[k.Model]++
		}
	}
	var out []string
	for model, n := range count {
		out = append(out, fmt.Sprintf("%d %s", n, model))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestBusesAreAddedForVeryManyNICs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		machine, model string
		nics           int
		want           string
	}{
		{"pc", "virtio", 28, "1 pci-root"},
		{"pc", "virtio", 82, "1 pci-root, 2 pci-bridge"},
		{"pc", "virtio", 900, "1 pci-root, 30 pci-bridge"},
		{"q35", "virtio", 82, "1 pcie-root, 85 pcie-root-port"},
		{"q35", "virtio", 230, "1 pcie-root, 233 pcie-root-port"},
		{"q35", "e1000", 31, "1 pcie-root, 1 pcie-to-pci-bridge, 4 pcie-root-port"},
		{"q35", "e1000", 82, "1 pcie-root, 1 pcie-to-pci-bridge, 2 pci-bridge, 4 pcie-root-port"}, // as libvirt 9.0
		{"q35", "e1000e", 14, "1 pcie-root, 17 pcie-root-port"},
	} {
		d, err := manyNICs(t, c.machine, c.model, c.nics, "")
		if err != nil {
			t.Errorf("%d %s on %s: %v", c.nics, c.model, c.machine, err)
			continue
		}
		if got := buses(d); got != c.want {
			t.Errorf("%d %s on %s: got %s, want %s", c.nics, c.model, c.machine, got, c.want)
		}
		again, err := spec.ParseDomain(d.Format())
		if err != nil {
			t.Fatal(err)
		}
		if err := Complete(again, pcHost()); err != nil || string(again.Format()) != string(d.Format()) {
			t.Errorf("%d %s on %s: completed again it is another document, or %v", c.nics, c.model, c.machine, err)
		}
	}
}

func TestMoreNICsThanFitAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		machine, model string
		nics           int
		more, want     string
	}{
		{"q35", "virtio", 240, "", "each device on PCI Express has a root port of its own"},
		{"q35", "virtio", 400, "", "PCI has 256 buses"},
		{"q35", "e1000e", 15, "", "so 14 fit, and with more it does not boot; use model='virtio'"},
		{"pc", "e1000e", 82, "", ""},
		{"q35", "e1000e", 15, "<loader type='rom'>/other/firmware</loader>", ""},
	} {
		_, err := manyNICs(t, c.machine, c.model, c.nics, c.more)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %s on %s %s: got %v, want %q", c.nics, c.model, c.machine, c.more, err, c.want)
		}
	}
}

func TestABridgeToConventionalPCITakesTheIOSpaceOfANIC(t *testing.T) {
	t.Parallel()
	for nics, want := range map[int]string{13: "", 14: "so 13 fit"} {
		d, err := spec.ParseDomain([]byte("<domain type='qemu'><name>x</name><memory>32768</memory><os><type machine='q35'>hvm</type></os><devices>" +
			"<interface type='user'><model type='e1000'/></interface>" + strings.Repeat("<interface type='user'><model type='e1000e'/></interface>", nics) + "</devices></domain>"))
		if err != nil {
			t.Fatal(err)
		}
		if err := Complete(d, pcHost()); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: got %v, want %q", nics, err, want)
		}
	}
}

// TestRootPortsOfVeryManyReserveNoIOSpace, and those of a document from before, which says nothing of it, do.
func TestRootPortsOfVeryManyReserveNoIOSpace(t *testing.T) {
	t.Parallel()
	for nics, want := range map[int]int{33: 0, 34: 37, 82: 85} {
		d, err := manyNICs(t, "q35", "virtio", nics, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := reserving(t, d); got != want {
			t.Errorf("%d NICs: %d root ports reserve no I/O space, want %d", nics, got, want)
		}
		d.Metadata = nil // as it was saved by an earlier build
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		if got := reserving(t, d); got != 0 {
			t.Errorf("%d NICs of a document that was complete: %d root ports changed", nics, got)
		}
	}
}

// reserving counts the root ports that are told to reserve no I/O space.
func reserving(t *testing.T, d *spec.Domain) int {
	t.Helper()
	named, err := spec.ParseDomain(d.Format())
	if err != nil {
		t.Fatal(err)
	}
	if err := Name(named); err != nil {
		t.Fatal(err)
	}
	c, err := Compile(named, Runtime{Accel: "tcg", Dir: "/run/x", QMP: "qmp", NICs: make([]NICRuntime, len(d.Devices.Interfaces))})
	if err != nil {
		t.Fatal(err)
	}
	argv, _, err := c.Config.Args(3)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(strings.Join(argv, " "), `"io-reserve":0`)
}
