package appliance

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/u-root/u-root/pkg/cpio"
)

// moduleFile is the smallest ELF file that has a .modinfo section.
func moduleFile(info ...string) []byte {
	modinfo := []byte(strings.Join(info, "\x00") + "\x00")
	names := []byte("\x00.modinfo\x00.shstrtab\x00")
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64),
		Version: 1, Shoff: 64, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2,
	})
	const data = 64 + 3*64
	_ = binary.Write(&b, binary.LittleEndian, []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: data, Size: uint64(len(modinfo))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: data + uint64(len(modinfo)), Size: uint64(len(names))},
	})
	b.Write(modinfo)
	b.Write(names)
	return b.Bytes()
}

// kernelTree is a folder of modules: virtio-rng needs virtio, which needs virtio_ring; loop_a and loop_b each other.
func kernelTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"kernel/drivers/virtio/virtio.ko":      moduleFile("depends=virtio_ring", "license=GPL"),
		"kernel/drivers/virtio/virtio_ring.ko": moduleFile("depends="),
		"kernel/drivers/char/virtio-rng.ko":    moduleFile("alias=virtio:d00000004v*", "depends=virtio,built-in"),
		"kernel/broken.ko":                     moduleFile("depends=absent"),
		"kernel/loop_a.ko":                     moduleFile("depends=loop_b"),
		"kernel/loop_b.ko":                     moduleFile("depends=loop_a"),
		"kernel/no_module.ko":                  []byte("text"),
		"modules.builtin":                      []byte("kernel/built-in.ko\n"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInitramfsHoldsTheAgentAndWhatTheModulesDependOn(t *testing.T) {
	t.Parallel()
	var archive, again bytes.Buffer
	dir := kernelTree(t)
	wanted := []string{"virtio_rng", "built_in", "not_in_this_kernel"}
	for _, w := range []io.Writer{&archive, &again} {
		if err := writeInitramfs(t.Context(), w, []byte("agent"), dir, wanted); err != nil {
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
		"dev": folder, "etc": folder, "lib": folder, "lib/modules": folder, "mnt": folder, "proc": folder, "sbin": folder,
		"sys": folder, "tmp": folder,
		"dev/console":                "20600 5:1 ",
		"init":                       "100755 0:0 agent",
		"sbin/modprobe":              "120777 0:0 /init",
		"lib/modules/modules.boot":   "100644 0:0 evdev\n",
		"lib/modules/modules.alias":  "100644 0:0 alias virtio:d00000004v* virtio_rng\n",
		"lib/modules/modules.dep":    "100644 0:0 virtio.ko: virtio_ring.ko\nvirtio_ring.ko:\nvirtio_rng.ko: virtio.ko virtio_ring.ko\n",
		"lib/modules/virtio.ko":      "100644 0:0 ",
		"lib/modules/virtio_ring.ko": "100644 0:0 ",
		"lib/modules/virtio_rng.ko":  "100644 0:0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func TestModulesThatCannotWorkAreErrors(t *testing.T) {
	t.Parallel()
	dir := kernelTree(t)
	for module, want := range map[string]string{"broken": "which broken needs: module absent", "no_module": "no_module.ko"} {
		err := writeInitramfs(t.Context(), io.Discard, nil, dir, []string{module})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", module, err, want)
		}
	}
	if err := writeInitramfs(t.Context(), io.Discard, nil, filepath.Join(dir, "absent"), nil); err == nil {
		t.Error("a kernel without a folder of modules was accepted")
	}
}

func TestModulesThatNeedEachOtherDoNotHang(t *testing.T) {
	t.Parallel()
	tree, err := openModules(kernelTree(t))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := tree.closure(t.Context(), []string{"loop_a"})
	if err != nil || len(modules) != 2 {
		t.Errorf("got %d modules, %v", len(modules), err)
	}
}

func TestInitramfsIsNamedByWhatItIsMadeFrom(t *testing.T) {
	t.Parallel()
	k := Kernel{Version: "1", ModulesDir: "/m"}
	keys := map[string]string{}
	for name, key := range map[string]string{
		"base": initramfsKey(k, []byte("agent"), []string{"a", "b"}), "agent": initramfsKey(k, []byte("other"), []string{"a", "b"}),
		"list": initramfsKey(k, []byte("agent"), []string{"a"}), "kernel": initramfsKey(Kernel{Version: "2", ModulesDir: "/m"}, []byte("agent"), []string{"a", "b"}),
	} {
		if other := keys[key]; other != "" {
			t.Errorf("%s and %s have the same key", name, other)
		}
		keys[key] = name
	}
}

func FuzzModinfo(f *testing.F) {
	f.Add([]byte("alias=a\x00depends=b,c-d\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, a := range parseModinfo(b).aliases {
			if strings.ContainsAny(a, " \n") {
				t.Errorf("alias %q would break modules.alias", a)
			}
		}
	})
}
