package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

func vsockGuest(t *testing.T, vsock string) *spec.Domain {
	t.Helper()
	d, err := spec.ParseDomain([]byte("<domain type='qemu'><name>g</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory>65536</memory><currentMemory>65536</currentMemory><vcpu>1</vcpu><devices>" + vsock + "</devices></domain>"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// claimed is a device on which the numbers up to last are in use.
func claimed(last uint32) func(uint32) error {
	return func(cid uint32) error {
		if cid <= last {
			return fmt.Errorf("claim CID %d: %w", cid, unix.EADDRINUSE)
		}
		return nil
	}
}

func TestAVsockGetsTheNumberOfItsDocumentOrOneThatIsFree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cid  string
		last uint32
		want uint32
		code virterr.Code
		text string
	}{
		{"<cid auto='yes'/>", 0, 3, 0, ""},
		{"<cid auto='yes'/>", 9, 10, 0, ""},
		{"<cid auto='no' address='77'/>", 9, 77, 0, ""},
		{"<cid auto='no' address='8'/>", 9, 0, virterr.SystemError, "domain 'g': vsock: another guest of this host has CID 8; choose another address, or auto='yes'"},
		{"<cid auto='yes'/>", 1 << 20, 0, virterr.OperationFailed, "operation failed: domain 'g': vsock: CIDs 3 to 65538: all in use; stop a guest that has one, or remove the device"},
	} {
		doc := vsockGuest(t, "<vsock>"+c.cid+"</vsock>")
		got, err := takeCID(doc, doc.Devices.Vsock, claimed(c.last))
		var known *virterr.Error
		if got != c.want || (err != nil) != (c.text != "") || errors.As(err, &known) && (known.Code != c.code || err.Error() != c.text) {
			t.Errorf("%s, %d in use: %d, %v, want %d, %q", c.cid, c.last, got, err, c.want, c.text)
		}
	}
}

func TestAHostWithoutVsockIsToldWhichModuleToLoad(t *testing.T) {
	t.Parallel()
	doc := vsockGuest(t, "<vsock/>")
	for _, errno := range []unix.Errno{unix.ENOENT, unix.ENODEV, unix.ENXIO} {
		err := noVsock(doc, &os.PathError{Op: "open", Path: guest.VsockDevice, Err: errno})
		if want := "domain 'g': vsock: there is no /dev/vhost-vsock: modprobe vhost_vsock (CONFIG_VHOST_VSOCK), or remove the device"; err.Error() != want {
			t.Errorf("%v: got %v, want %s", errno, err, want)
		}
	}
	if err := noVsock(doc, &os.PathError{Op: "open", Path: guest.VsockDevice, Err: unix.EACCES}); !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
}

// The record says which number a guest has, until the device is gone.
func TestTheNumberGoesWithTheDevice(t *testing.T) {
	t.Parallel()
	h := &hardware{rec: record{CID: 5}, doc: vsockGuest(t, "<vsock><cid auto='yes'/><alias name='vsock0'/></vsock><rng model='virtio'><backend model='builtin'/><alias name='rng0'/></rng>")}
	if n := h.without([]string{"rng0"}); n.rec.CID != 5 {
		t.Errorf("without another device: %d", n.rec.CID)
	}
	if n := h.without([]string{"vsock0"}); n.rec.CID != 0 || n.doc.Devices.Vsock != nil || h.rec.CID != 5 {
		t.Errorf("without the device: %d, %v; before: %d", n.rec.CID, n.doc.Devices.Vsock, h.rec.CID)
	}
}
