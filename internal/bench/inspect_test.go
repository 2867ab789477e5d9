package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
)

func TestAnFstabIsReadAsFarAsItsDevicesAreThere(t *testing.T) {
	t.Parallel()
	fstab := "# UUID=1 /commented ext4\nUUID=1 / ext4\nUUID=2 /home ext4 defaults\n\nLABEL=data\t/srv\txfs\n/dev/sdb1 /other ext4\nUUID=3 /gone ext4\nUUID=4 none swap\nUUID= /empty ext4\n"
	got := mountsOf([]byte(fstab), []proto.Device{{Name: "sda1", UUID: "1"}, {Name: "sda2", UUID: "2"}, {Name: "sda3", UUID: "5", Label: "data"}})
	if d := cmp.Diff(map[string]string{"/home": "sda2", "/srv": "sda3"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestABadImageIsOneError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := host.New(host.Options{})
	defer k.Close()
	files := launchtest.Files(t)
	l, err := launch.Open(t.Context(), launch.Spec{Kernel: k, Files: files, Launcher: launchtest.Program(t, "taproom-launch"), CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := &inspectBench{k: k, dir: dir, launcher: l, crowd: newCrowd(k.MemoryRoom, uint64(files.Memory)<<20)}
	if err := smallSystem(t.Context(), dir, filepath.Join(dir, "base.img")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "bad", "two"} {
		image := filepath.Join(dir, name)
		if err := runTool(t.Context(), "qemu-img", "create", "-q", "-f", "qcow2", "-b", "base.img", "-F", "raw", image); err != nil {
			t.Fatal(err)
		}
		b.images = append(b.images, image)
	}
	if err := os.Truncate(b.images[1], 100); err != nil {
		t.Fatal(err)
	}
	b.inspectAll(t.Context(), Options{Workers: 2, Progress: func(int, int) {}})
	var refused *chain.Error
	if len(b.took) != 2 || !errors.As(b.failed, &refused) {
		t.Errorf("%d were inspected, and %v", len(b.took), b.failed)
	}
	use := b.found.use
	if len(use) != 1 || use[0].at != "/" || use[0].avail == 0 || use[0].avail > use[0].size || use[0].size > 64*mib {
		t.Errorf("df says %+v", use)
	}
	b.found.use = nil
	if d := cmp.Diff(&inspected{system: "A small system", hostname: "small", packages: 200}, b.found, cmp.AllowUnexported(inspected{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if b.crowd.alive != 0 || b.crowd.young != 0 || b.crowd.most == 0 {
		t.Errorf("afterwards: %+v", b.crowd)
	}
}
