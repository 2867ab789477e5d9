package initramfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel"
)

// Layout is what a guest finds when its kernel starts.
type Layout struct {
	Agent   []byte        // becomes /init, and /sbin/modprobe
	Kernel  kernel.Kernel // whose modules are taken
	Wanted  []string      // modules; what is built into the kernel or unknown to it is left out
	Boot    []string      // those of them that are loaded although no device asks for them, in this order
	Folders []string      // empty ones beside those that every guest has
}

// recipe changes whenever the same layout would make another initramfs.
const recipe = "2"

// Key names an initramfs by everything it is made from.
func (l Layout) Key() string {
	h := sha256.New()
	lists := [][]string{{recipe, l.Kernel.Version, l.Kernel.ModulesDir}, l.Wanted, l.Boot, l.Folders}
	for _, list := range lists {
		fmt.Fprintf(h, "%d:", len(list))
		for _, part := range list {
			fmt.Fprintf(h, "%d:%s", len(part), part)
		}
	}
	h.Write(l.Agent)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Ensure returns the path of the initramfs in a cache, under a name that begins with prefix, and makes it where it is not there.
func (l Layout) Ensure(ctx context.Context, c cache.Folder, prefix string, progress func(string)) (string, error) {
	name := prefix + l.Key()
	if at := c.Path(name); cache.Exists(at) {
		return at, nil
	}
	progress("building the guest's initramfs")
	return c.Publish(name, func(f *os.File) error { return l.Build(ctx, f) })
}

// Build writes the initramfs. Equal layouts give equal bytes.
func (l Layout) Build(ctx context.Context, w io.Writer) error {
	tree, err := kernel.OpenModules(l.Kernel.ModulesDir)
	if err != nil {
		return err
	}
	modules, err := tree.Closure(ctx, l.Wanted)
	if err != nil {
		return err
	}
	return Write(w, l.records(modules))
}

// records lists what is in the initramfs, folders before their files.
func (l Layout) records(modules []kernel.Module) []cpio.Record {
	folders := append([]string{"dev", "etc", "lib", "lib/modules", "mnt", "proc", "sbin", "sys", "tmp"}, l.Folders...)
	slices.Sort(folders)
	var list []cpio.Record
	for _, name := range folders {
		list = append(list, cpio.Directory(name, 0o755))
	}
	dep, alias := kernel.Tables(modules)
	list = append(list,
		// Until devtmpfs is mounted, the kernel looks for the console here.
		cpio.CharDev("dev/console", 0o600, 5, 1),
		cpio.StaticFile("init", string(l.Agent), 0o755),
		// The kernel runs this for what it misses itself.
		cpio.Symlink("sbin/modprobe", "/init"),
		cpio.StaticFile("lib/modules/modules.dep", dep, 0o644),
		cpio.StaticFile("lib/modules/modules.alias", alias, 0o644),
		cpio.StaticFile("lib/modules/modules.boot", boot(l.Boot, modules), 0o644),
		cpio.StaticFile("lib/modules/modules.devname", kernel.Nodes(modules), 0o644),
	)
	for _, m := range modules {
		list = append(list, cpio.StaticFile(path.Join("lib/modules", m.File), string(m.Content), 0o644))
	}
	return list
}

// boot is the list of those modules that are there.
func boot(wanted []string, modules []kernel.Module) string {
	var b strings.Builder
	for _, name := range wanted {
		if slices.ContainsFunc(modules, func(m kernel.Module) bool { return m.Name == name }) {
			fmt.Fprintln(&b, name)
		}
	}
	return b.String()
}
