package appliance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/initramfs"
	"taproom/internal/appliance/kernel"
)

// guestModules are the drivers for what QEMU can give to a guest, and the file systems. What is built into a kernel,
// or what it does not have, is left out.
func guestModules() []string {
	return []string{
		"virtio_pci", "virtio_mmio", "virtio_net", "virtio_blk", "virtio_scsi", "virtio_console", "virtio_rng",
		"virtio_balloon", "virtio_input",
		"e1000", "e1000e", "8139cp", "8139too",
		"ahci", "ata_piix", "sd_mod", "sr_mod", "cdrom",
		"ext4", "vfat", "isofs", "nls_cp437", "nls_ascii", "nls_utf8", "crc32c_generic", "crc32c_intel",
		"button", "evdev", "i8042", "atkbd",
		"pvpanic", "pvpanic_pci", "pvpanic_mmio", "i6300esb", "lpc_ich", "iTCO_wdt",
		"tpm_crb", "tpm_tis", "virtiofs",
		"af_packet", "ipv6",
	}
}

// bootModules are loaded although no device asks for them.
func bootModules() []string { return []string{"evdev"} }

// recipe changes whenever the same inputs would make another initramfs.
const recipe = "1"

// initramfsKey names an initramfs by everything it is made from.
func initramfsKey(k kernel.Kernel, agent []byte, modules []string) string {
	h := sha256.New()
	for _, part := range []string{recipe, k.Version, k.ModulesDir, strings.Join(modules, " ")} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	h.Write(agent)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// writeInitramfs writes an archive with the agent as /init and the modules that are wanted. Equal inputs give equal
// bytes. It is not compressed: unpacking costs a guest without KVM more than reading.
func writeInitramfs(ctx context.Context, w io.Writer, agent []byte, modulesDir string, wanted []string) error {
	tree, err := kernel.OpenModules(modulesDir)
	if err != nil {
		return err
	}
	modules, err := tree.Closure(ctx, wanted)
	if err != nil {
		return err
	}
	return initramfs.Write(w, records(agent, modules))
}

// records lists what is in the initramfs, folders before their files.
func records(agent []byte, modules []kernel.Module) []cpio.Record {
	dep, alias := kernel.Tables(modules)
	list := []cpio.Record{
		cpio.Directory("dev", 0o755), cpio.Directory("etc", 0o755), cpio.Directory("lib", 0o755),
		cpio.Directory("lib/modules", 0o755), cpio.Directory("mnt", 0o755), cpio.Directory("proc", 0o755),
		cpio.Directory("sbin", 0o755), cpio.Directory("sys", 0o755), cpio.Directory("tmp", 0o755),
		// Until devtmpfs is mounted, the kernel looks for the console here.
		cpio.CharDev("dev/console", 0o600, 5, 1),
		cpio.StaticFile("init", string(agent), 0o755),
		// The kernel runs this for what it misses itself.
		cpio.Symlink("sbin/modprobe", "/init"),
		cpio.StaticFile("lib/modules/modules.dep", dep, 0o644),
		cpio.StaticFile("lib/modules/modules.alias", alias, 0o644),
		cpio.StaticFile("lib/modules/modules.boot", strings.Join(bootModules(), "\n")+"\n", 0o644),
	}
	for _, m := range modules {
		list = append(list, cpio.StaticFile(path.Join("lib/modules", m.File), string(m.Content), 0o644))
	}
	return list
}

// buildInitramfs returns the path of the initramfs for a kernel and an agent, and makes it where it is not there.
func buildInitramfs(ctx context.Context, c cache.Folder, k kernel.Kernel, agentPath string, progress func(string)) (string, error) {
	agent, err := initramfs.ReadAgent(agentPath)
	if err != nil {
		return "", err
	}
	name := "initramfs-" + initramfsKey(k, agent, guestModules())
	if at := c.Path(name); cache.Exists(at) {
		return at, nil
	}
	progress("building the guest's initramfs")
	return c.Publish(name, func(f *os.File) error {
		return writeInitramfs(ctx, f, agent, k.ModulesDir, guestModules())
	})
}
