package guest

import (
	"testing"

	"taproom/internal/spec"
)

// They are not started with the others: few hosts of tests have /dev/vhost-vsock.
func TestAVsockIsCompletedCompiledAndShown(t *testing.T) {
	t.Parallel()
	cases(t, "vsock", func(t *testing.T, path string, files map[string][]byte) {
		d := parse(t, files["domain.xml"])
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := Complete(d, pcHost()); err != nil {
			t.Fatal(err)
		}
		golden(t, path, "completed.xml", string(Inactive(d, false).Format()))
		c, err := Compile(d, testRuntime(d))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, path, "argv", lines(t, c.Config))
		golden(t, path, "needs", describe(c))
		golden(t, path, "live.xml", string(Live(d, testRuntime(d), LiveFacts{ID: 1}, false).Format()))
	})
}

func TestAVsockThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ vsock, want string }{
		{"<vsock><cid auto='no'/></vsock>", "invalid devices/vsock/cid/@address: it is missing; give the guest a number from 3 up, or say auto='yes'"},
		{"<vsock><cid address='2'/></vsock>", "invalid devices/vsock/cid/@address: 2 is too small (at least 3)"},
		{"<vsock><cid address='4294967295'/></vsock>", "invalid devices/vsock/cid/@address: 4294967295 is too large (limit 4294967294)"},
		{"<vsock model='virtio-transitional'/>", `devices/vsock/@model is not supported: "virtio-transitional" is not implemented; use virtio or virtio-non-transitional`},
		{"<vsock model='vmci'/>", `invalid devices/vsock/@model: "vmci" is not known; use virtio or virtio-non-transitional`},
		{"<vsock/><vsock/>", "invalid devices/vsock: it is given more than once"},
	} {
		_, err := tuned(t, "qemu", "<devices>"+c.vsock+"</devices>", nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %s, want %s", c.vsock, err, c.want)
		}
	}
}

func TestAnEmulatorWithoutVsockIsNamed(t *testing.T) {
	t.Parallel()
	h := pcHost()
	h.Devices = []string{"virtio-blk-pci"}
	d := parse(t, []byte("<domain type='qemu'><name>x</name><memory>65536</memory><os><type>hvm</type></os><devices><vsock/></devices></domain>"))
	const want = "vsock is not supported: emulator /usr/bin/qemu-system-x86_64 has no vhost-vsock-pci; remove the device, or name another emulator"
	if err := Complete(d, h); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What was claimed for a run is the run's: a definition made of a live document leaves the number open again.
func TestANumberThatWasClaimedIsNotDefined(t *testing.T) {
	t.Parallel()
	d := parse(t, []byte("<domain type='qemu'><name>x</name><memory>65536</memory><os><type>hvm</type></os><devices><vsock/></devices></domain>"))
	if err := Complete(d, pcHost()); err != nil {
		t.Fatal(err)
	}
	rt := testRuntime(d)
	rt.CID = 77
	live, err := spec.ParseDomain(Live(d, rt, LiveFacts{ID: 1}, true).Format())
	if err != nil || live.Devices.Vsock.CID.Address != "77" {
		t.Fatalf("%+v, %v", live.Devices.Vsock.CID, err)
	}
	if err := Complete(live, pcHost()); err != nil || live.Devices.Vsock.CID.Address != "" {
		t.Errorf("%+v, %v", live.Devices.Vsock.CID, err)
	}
}
