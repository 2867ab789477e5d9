package appliance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"
)

// recipe changes whenever the same inputs would make another initramfs.
const recipe = "1"

// initramfsKey names an initramfs by everything it is made from.
func initramfsKey(k Kernel, agent []byte, modules []string) string {
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
	tree, err := openModules(modulesDir)
	if err != nil {
		return err
	}
	modules, err := tree.closure(ctx, wanted)
	if err != nil {
		return err
	}
	return writeArchive(w, records(agent, modules))
}

// records lists what is in the initramfs, folders before their files.
func records(agent []byte, modules []module) []cpio.Record {
	dep, alias := tables(modules)
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
		list = append(list, cpio.StaticFile(path.Join("lib/modules", m.file), string(m.content), 0o644))
	}
	for i := range list {
		list[i].Ino = uint64(i + 1)
		list[i].NLink = 1
	}
	return list
}

func writeArchive(w io.Writer, list []cpio.Record) error {
	b := bufio.NewWriterSize(w, 256<<10)
	archive := cpio.Newc.Writer(b)
	if err := cpio.WriteRecords(archive, list); err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	if err := cpio.WriteTrailer(archive); err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	return b.Flush()
}

// buildInitramfs returns the path of the initramfs for a kernel and an agent, and makes it where it is not there.
func buildInitramfs(ctx context.Context, c cache, k Kernel, agentPath string, progress func(string)) (string, error) {
	agent, err := os.ReadFile(agentPath)
	if err != nil {
		return "", fmt.Errorf("read the guest's agent: %w", err)
	}
	if !bytes.HasPrefix(agent, []byte("\x7fELF")) {
		return "", fmt.Errorf("read the guest's agent: %s is not a program", agentPath)
	}
	name := "initramfs-" + initramfsKey(k, agent, guestModules())
	if at := c.path(name); exists(at) {
		return at, nil
	}
	progress("building the guest's initramfs")
	return c.publish(name, func(f *os.File) error {
		return writeInitramfs(ctx, f, agent, k.ModulesDir, guestModules())
	})
}
