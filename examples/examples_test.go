// Package examples holds documents to begin with. Its tests keep them true.
package examples

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance"
	"taproom/internal/spec"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestGuestIsValidAndBootsTheBuiltInGuestOnTheNetworkBesideIt(t *testing.T) {
	t.Parallel()
	d, err := spec.ParseDomain(read(t, "guest.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	n, err := spec.ParseNetwork(read(t, "network.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Validate(); err != nil {
		t.Error(err)
	}
	got := []string{d.OS.Kernel, d.OS.Initrd, d.OS.Cmdline, d.Devices.Interfaces[0].Source.Network}
	want := []string{
		"/var/cache/taproom/guest/kernel", "/var/cache/taproom/guest/initramfs", appliance.CommandLine(), n.Name,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kernel, initramfs, command line, network (-want +got):\n%s", diff)
	}
}

func TestDocumentsComeBackAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	d, err := spec.ParseDomain(read(t, "guest.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(read(t, "guest.xml")), string(d.Format())); diff != "" {
		t.Errorf("guest.xml (-want +got):\n%s", diff)
	}
	n, err := spec.ParseNetwork(read(t, "network.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(read(t, "network.xml")), string(n.Format())); diff != "" {
		t.Errorf("network.xml (-want +got):\n%s", diff)
	}
}
