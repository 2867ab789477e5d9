package guest

import (
	"strings"
	"testing"

	"taproom/internal/spec"
)

// What a document becomes: completed, and when it runs. libvirt's formatted documents and its own tests say what they
// should be; nobody observed them on a host.
func TestDevicesAreCompletedAndShown(t *testing.T) {
	t.Parallel()
	cases(t, "devices", func(t *testing.T, path string, files map[string][]byte) {
		d := parse(t, files["domain.xml"])
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		golden(t, path, "completed.xml", string(Inactive(d, false).Format()))
		live := Live(d, testRuntime(d), LiveFacts{ID: 1}, false)
		golden(t, path, "live.xml", string(live.Format()))
	})
}

// Clients choose UEFI where a document lists it, and look for images by name in the list of loaders.
func TestDomainCapabilitiesListInstalledFirmware(t *testing.T) {
	t.Parallel()
	facts := capFacts()
	facts.Host.Firmware = debianFirmware
	for machine, want := range map[string]string{
		"pc": "bios efi /usr/share/OVMF/OVMF_CODE_4M.fd no",
		"q35": "bios efi /usr/share/OVMF/OVMF_CODE_4M.ms.fd /usr/share/OVMF/OVMF_CODE_4M.secboot.fd " +
			"/usr/share/OVMF/OVMF_CODE_4M.fd yes no",
		"microvm": "",
	} {
		doc, err := DomainCapabilities(facts, "", machine, "qemu")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		add := func(values []spec.DomainCapsValue) {
			for _, v := range values {
				got = append(got, v.Value)
			}
		}
		add(doc.OS.Enums[0].Values)
		add(doc.OS.Loader.Values)
		for _, e := range doc.OS.Loader.Enums {
			if e.Name == "secure" {
				add(e.Values)
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: got %s, want %s", machine, g, want)
		}
	}
}
