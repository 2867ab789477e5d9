package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// guestfishTree is the distribution with libguestfs installed, below a folder with peers; tools/libguestfs.sh makes it.
const guestfishTree = "libguestfs"

// peerGuestfish is libguestfs in a tree of its own, which is its root while it runs.
type peerGuestfish struct {
	root    string
	mounted []string
}

// guestfish makes libguestfs ready to run, with an image. Where it cannot, it says why.
func guestfish(ctx context.Context, peers, image string) (*peerGuestfish, []Skip) {
	g := &peerGuestfish{root: filepath.Join(peers, guestfishTree)}
	err := errors.New("no --peers; tools/peers.sh fetches libguestfs")
	if peers != "" {
		err = g.prepare(ctx, image)
	}
	if err == nil {
		return g, nil
	}
	return nil, []Skip{{Name: "peer.libguestfs", Why: errors.Join(err, g.close()).Error()}}
}

// prepare mounts what programs want, in the namespace of the benchmark.
func (g *peerGuestfish) prepare(ctx context.Context, image string) error {
	if _, err := os.Stat(filepath.Join(g.root, "usr/bin/guestfish")); err != nil {
		return fmt.Errorf("%w; tools/peers.sh fetches it", err)
	}
	work := filepath.Join(g.root, "mnt")
	for _, args := range [][]string{
		{"-t", "proc", "proc", filepath.Join(g.root, "proc")},
		{"--rbind", "/dev", filepath.Join(g.root, "dev")},
		{"-t", "tmpfs", "libguestfs", filepath.Join(g.root, "tmp")},
		{"--bind", filepath.Dir(image), work},
	} {
		if out, err := exec.CommandContext(ctx, "mount", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("mount %q: %w: %s", args, err, out)
		}
		g.mounted = append(g.mounted, args[len(args)-1])
	}
	return nil
}

func (g *peerGuestfish) close() error {
	var errs []error
	for i := len(g.mounted) - 1; i >= 0; i-- {
		if out, err := exec.Command("umount", "-l", g.mounted[i]).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("umount %s: %w: %s", g.mounted[i], err, out))
		}
	}
	g.mounted = nil
	return errors.Join(errs...)
}

// launch launches and shuts down libguestfs's appliance with an empty image, in milliseconds.
func (g *peerGuestfish) launch(ctx context.Context) (float64, error) {
	return g.run(ctx, "add-ro /mnt/disk.img\nrun\nshutdown\n", "")
}

// listed does the same and lists the image's file system.
func (g *peerGuestfish) listed(ctx context.Context) (float64, error) {
	return g.run(ctx, "add-ro /mnt/disk.img\nrun\nmount-ro /dev/sda /\nls /\nshutdown\n", strings.Join(listed, "\n"))
}

// run runs a script that has to say what is wanted, and returns how long that took, in milliseconds.
func (g *peerGuestfish) run(ctx context.Context, script, want string) (float64, error) {
	out, took, err := g.output(ctx, script)
	if err == nil && out != want {
		err = fmt.Errorf("guestfish: it said %q, want %q", out, want)
	}
	return milliseconds(took), err
}

// output runs a script, and returns what it says.
func (g *peerGuestfish) output(ctx context.Context, script string) (string, time.Duration, error) {
	c := exec.CommandContext(ctx, "chroot", g.root, "/usr/bin/guestfish")
	c.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LIBGUESTFS_BACKEND=direct",
		"LIBGUESTFS_BACKEND_SETTINGS=force_tcg", // what is measured beside runs in TCG, too
	}
	c.Stdin = strings.NewReader(script)
	var said strings.Builder
	c.Stderr = &said
	began := time.Now()
	out, err := c.Output()
	took := time.Since(began)
	if err != nil {
		return "", 0, fmt.Errorf("guestfish: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), took, nil
}
