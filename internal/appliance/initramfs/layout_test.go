package initramfs

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/u-root/u-root/pkg/cpio"

	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/kernel/kerneltest"
)

func TestInitramfsHoldsTheAgentAndWhatTheModulesDependOn(t *testing.T) {
	t.Parallel()
	var archive, again bytes.Buffer
	dir := kerneltest.Tree(t)
	wanted := []string{"virtio_rng", "built_in", "not_in_this_kernel"}
	l := Layout{
		Agent: []byte("agent"), Kernel: kernel.Kernel{ModulesDir: dir}, Wanted: wanted, Boot: wanted, Folders: []string{"run"},
	}
	for _, w := range []io.Writer{&archive, &again} {
		if err := l.Build(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Error("equal inputs gave different archives")
	}
	got := map[string]string{}
	reader := cpio.Newc.Reader(bytes.NewReader(archive.Bytes()))
	err := cpio.ForEachRecord(reader, func(r cpio.Record) error {
		b := make([]byte, r.FileSize)
		if len(b) > 0 {
			if _, err := r.ReadAt(b, 0); err != nil {
				return err
			}
		}
		if strings.HasSuffix(r.Name, ".ko") {
			b = nil
		}
		got[r.Name] = fmt.Sprintf("%o %d:%d %s", r.Mode, r.Rmajor, r.Rminor, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const folder = "40755 0:0 "
	want := map[string]string{
		"dev": folder, "run": folder, "etc": folder, "lib": folder, "lib/modules": folder, "mnt": folder, "proc": folder, "sbin": folder,
		"sys": folder, "tmp": folder,
		"dev/console":                 "20600 5:1 ",
		"init":                        "100755 0:0 agent",
		"sbin/modprobe":               "120777 0:0 /init",
		"lib/modules/modules.boot":    "100644 0:0 virtio_rng\n",
		"lib/modules/modules.alias":   "100644 0:0 alias virtio:d00000004v* virtio_rng\nalias devname:hwrng virtio_rng\nalias char-major-10-183 virtio_rng\n",
		"lib/modules/modules.devname": "100644 0:0 virtio_rng hwrng c10:183\n",
		"lib/modules/modules.dep":     "100644 0:0 virtio.ko: virtio_ring.ko\nvirtio_ring.ko:\nvirtio_rng.ko: virtio.ko virtio_ring.ko\n",
		"lib/modules/virtio.ko":       "100644 0:0 ",
		"lib/modules/virtio_ring.ko":  "100644 0:0 ",
		"lib/modules/virtio_rng.ko":   "100644 0:0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func TestModulesThatCannotWorkAreErrors(t *testing.T) {
	t.Parallel()
	dir := kerneltest.Tree(t)
	for module, want := range map[string]string{"broken": "which broken needs: module absent", "no_module": "no_module.ko"} {
		err := Layout{Kernel: kernel.Kernel{ModulesDir: dir}, Wanted: []string{module}}.Build(t.Context(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", module, err, want)
		}
	}
	if err := (Layout{Kernel: kernel.Kernel{ModulesDir: filepath.Join(dir, "absent")}}).Build(t.Context(), io.Discard); err == nil {
		t.Error("a kernel without a folder of modules was accepted")
	}
}

func TestInitramfsIsNamedByWhatItIsMadeFrom(t *testing.T) {
	t.Parallel()
	base := Layout{Agent: []byte("agent"), Kernel: kernel.Kernel{Version: "1", ModulesDir: "/m"}, Wanted: []string{"a", "b"}}
	keys := map[string]string{}
	for name, change := range map[string]func(*Layout){
		"base": func(*Layout) {}, "agent": func(l *Layout) { l.Agent = []byte("other") }, "list": func(l *Layout) { l.Wanted = []string{"a"} },
		"kernel": func(l *Layout) { l.Kernel.Version = "2" }, "boot": func(l *Layout) { l.Boot = []string{"b"} },
		"folders": func(l *Layout) { l.Folders = []string{"b"} }, "one name": func(l *Layout) { l.Wanted = []string{"ab"} },
	} {
		l := base
		change(&l)
		if other := keys[l.Key()]; other != "" {
			t.Errorf("%s and %s have the same key", name, other)
		}
		keys[l.Key()] = name
	}
}
