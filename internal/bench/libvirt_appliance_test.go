package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/proto"
)

// peersEnv names a folder that tools/peers.sh has filled.
const peersEnv = "TAPROOM_PEERS"

// TestAnApplianceIsADomainOfTheDistributionsLibvirt holds that the way through libvirt takes any libvirt.
func TestAnApplianceIsADomainOfTheDistributionsLibvirt(t *testing.T) {
	t.Parallel()
	peers := os.Getenv(peersEnv)
	if peers == "" {
		t.Skip("there is no libvirtd of the distribution's: make appliance-libvirt fetches one and runs this")
	}
	p, err := newLibvirt(t.Context(), peers)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	s := launch.Spec{Files: launchtest.Files(t), Way: launch.WayLibvirt, Accelerator: "tcg", Libvirt: "qemu:///system?socket=" + p.socket()}
	dir := t.TempDir() // which libvirtd sees: the cache is hidden from it
	for _, file := range []*string{&s.Files.Kernel, &s.Files.Initrd, &s.Files.Tools} {
		if *file != "" {
			*file = copied(t, *file, dir)
		}
	}
	image, err := makeDisk(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	another := copied(t, image, t.TempDir())
	a, err := launch.Launch(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	lists(t, a, launch.Disk{Path: image})
	lists(t, a, launch.Disk{Path: another, Format: "raw", Access: launch.Write})
	if list, err := p.conn.Domains(t.Context(), 0); err != nil || len(list) != 1 {
		t.Errorf("%d domains (%v), want the appliance", len(list), err)
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if list, err := p.conn.Domains(t.Context(), 0); err != nil || len(list) != 0 {
		t.Errorf("%d domains are left (%v)", len(list), err)
	}
}

// lists has an appliance mount an image and list it.
func lists(t *testing.T, a *launch.Appliance, d launch.Disk) {
	t.Helper()
	dev, err := a.Attach(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Agent().Mount(t.Context(), proto.Mount{Device: "serial:" + dev.Serial, At: "/"}); err != nil {
		t.Fatal(err)
	}
	entries, err := a.Agent().List(t.Context(), "/")
	if err != nil || len(entries) == 0 {
		t.Errorf("%d names (%v)", len(entries), err)
	}
	err = errors.Join(a.Agent().Sync(t.Context()), a.Agent().Unmount(t.Context(), "/"))
	if err != nil {
		t.Error(err)
	}
}

// copied is a copy of a file in a folder.
func copied(t *testing.T, path, dir string) string {
	t.Helper()
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(dir, filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}
