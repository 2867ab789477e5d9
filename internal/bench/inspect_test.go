package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taproom/disk"
	"taproom/disk/inspect"
	"taproom/internal/appliance/launchtest"
)

func TestABadImageIsOneError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	programs, err := launchtest.Programs()
	if err != nil {
		t.Fatal(err)
	}
	b := &inspectBench{many: disk.Many{
		Spec: disk.Spec{Programs: programs, CacheDir: filepath.Join(t.TempDir(), "cache")}, Image: disk.Image{Within: []string{dir}}, Workers: 2,
	}}
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
	b.inspectAll(t.Context(), Options{Progress: func(int, int) {}})
	var refused *disk.Error
	if len(b.took) != 2 || !errors.As(b.failed, &refused) {
		t.Errorf("%d were inspected, and %v", len(b.took), b.failed)
	}
	if b.found == nil || len(b.found.Systems) != 1 {
		t.Fatalf("found %+v", b.found)
	}
	s := b.found.Systems[0]
	if s.Name != "A small system" || s.Hostname != "small" || len(s.Packages) != 200 || s.Packages[0] != (inspect.Package{Name: "package0", Version: "1.0"}) {
		t.Errorf("found %+v", s)
	}
	if len(s.Usage) != 1 || s.Usage[0].At != "/" || s.Usage[0].Available <= 0 || s.Usage[0].Available > s.Usage[0].Size || s.Usage[0].Size > 64*mib {
		t.Errorf("df says %+v", s.Usage)
	}
}
