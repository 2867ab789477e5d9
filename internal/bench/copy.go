package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	appliance "taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/proto"
)

// MostCopied bounds Options.Copied, in MiB: what is copied lies on the host three times.
const MostCopied = 8 << 10

const mib = 1 << 20

// runCopy measures what a file takes into the ext4 of an image and out of it, from the launch of an appliance to its end; net is
// the copy alone. What goes in is synced, and what comes out is compared.
func runCopy(ctx context.Context, o Options) (r *Report, err error) {
	dir, err := os.MkdirTemp("", "taproom-bench-copy")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &copyBench{dir: dir, size: int64(o.Copied) * mib}
	files, err := appliance.Ensure(ctx, appliance.Options{AgentPath: filepath.Join(o.Programs, "taproom-init")})
	if err != nil {
		return nil, err
	}
	b.spec = launch.Spec{Files: files, Launcher: filepath.Join(o.Programs, "taproom-launch"), CacheDir: filepath.Join(dir, "cache")}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	r = newReport("copy")
	sides := []*copySide{{bench: b, name: "up", copy: b.up}, {bench: b, name: "down", copy: b.down}}
	peer, skipped := guestfish(ctx, o.Peers, b.path("new"))
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
		p := copyPeer{b, peer}
		sides = append(sides, &copySide{bench: b, name: "peer.libguestfs.up", copy: p.up}, &copySide{bench: b, name: "peer.libguestfs.down", copy: p.down})
	}
	var contenders []Contender
	for i, s := range sides {
		contenders = append(contenders, Contender{Name: s.name, Unit: "s", Run: s.run, Optional: i > 1})
	}
	all, more, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	r.add(all, append(skipped, more...)...)
	for _, s := range sides {
		if len(s.rates) > 1 { // the first round does not count
			r.add([]Series{{s.name + ".net", "MB/s", s.rates[1:]}})
		}
	}
	r.Host.QEMU = b.qemu
	r.Notes = append(r.Notes, fmt.Sprintf("%d MiB each way; %s, %s kernel", o.Copied, b.way, ownOr(files.Own)))
	return r, nil
}

func ownOr(own bool) string {
	if own {
		return "own"
	}
	return "the distribution's"
}

// copyBench has the files that are copied.
type copyBench struct {
	dir       string
	size      int64
	spec      launch.Spec
	way, qemu string
}

func (b *copyBench) path(name string) string { return filepath.Join(b.dir, name) }

// prepare makes what is copied, and an image that holds it.
func (b *copyBench) prepare(ctx context.Context) error {
	f, err := os.Create(b.path("source"))
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), b.size)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Mkdir(b.path("root"), 0o755); err != nil {
		return err
	}
	if err := os.Link(b.path("source"), b.path("root/file")); err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, "qemu-system-x86_64", "--version").Output()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(string(version), "QEMU emulator version %s", &b.qemu); err != nil {
		return fmt.Errorf("ask QEMU for its version: %w", err)
	}
	return b.image(ctx, "full", "-d", b.path("root"))
}

// image makes a file system that has room for what is copied.
func (b *copyBench) image(ctx context.Context, name string, more ...string) error {
	const spare = 64 * mib // metadata and the journal
	if err := b.empty(name, b.size+b.size/8+spare); err != nil {
		return err
	}
	args := append(append([]string{"-q", "-F"}, more...), b.path(name))
	if out, err := exec.CommandContext(ctx, "mkfs.ext4", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4 %s: %w: %s", b.path(name), err, bytes.TrimSpace(out))
	}
	return nil
}

// empty makes a file of zeros, in the place of one that was there.
func (b *copyBench) empty(name string, size int64) error {
	f, err := os.Create(b.path(name))
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// copySide is one direction. The copy returns how long the copy alone took.
type copySide struct {
	bench *copyBench
	name  string
	copy  func(ctx context.Context) (total, net time.Duration, err error)
	rates []float64 // MB/s of each round
}

func (s *copySide) run(ctx context.Context) (float64, error) {
	total, net, err := s.copy(ctx)
	if err != nil {
		return 0, err
	}
	s.rates = append(s.rates, float64(s.bench.size)/1e6/net.Seconds())
	return total.Seconds(), nil
}

// up copies the file into an image that is new.
func (b *copyBench) up(ctx context.Context) (total, net time.Duration, err error) {
	if err := b.image(ctx, "new"); err != nil {
		return 0, 0, err
	}
	source, err := os.Open(b.path("source"))
	if err != nil {
		return 0, 0, err
	}
	defer source.Close()
	return b.timed(ctx, launch.Disk{Path: b.path("new"), Format: "raw", Access: launch.Write}, func(a *launch.Appliance) error {
		return a.CopyIn(ctx, "/file", source, 0o600, true)
	})
}

// down copies it out of one.
func (b *copyBench) down(ctx context.Context) (total, net time.Duration, err error) {
	if err := b.empty("target", 0); err != nil {
		return 0, 0, err
	}
	target, err := os.OpenFile(b.path("target"), os.O_RDWR, 0)
	if err != nil {
		return 0, 0, err
	}
	defer target.Close()
	total, net, err = b.timed(ctx, launch.Disk{Path: b.path("full"), Format: "raw", Access: launch.ReadOnly}, func(a *launch.Appliance) error {
		return errors.Join(a.CopyOut(ctx, "/file", target), target.Sync())
	})
	if err == nil {
		err = same(b.path("source"), b.path("target"))
	}
	return total, net, err
}

// timed launches an appliance, gives it an image, has the copy made, and shuts it down.
func (b *copyBench) timed(ctx context.Context, image launch.Disk, run func(*launch.Appliance) error) (total, net time.Duration, err error) {
	began := time.Now()
	l, err := launch.Open(ctx, b.spec)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	way, _ := l.Way()
	b.way = fmt.Sprintf("%s on %s, %s", way, l.Machine(), l.Accelerator())
	a, err := l.Launch(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	disk, err := a.Attach(ctx, image)
	if err != nil {
		return 0, 0, err
	}
	if _, err := a.Agent().Mount(ctx, proto.Mount{Device: disk.Name, At: "/", Type: "ext4", ReadOnly: image.Access == launch.ReadOnly}); err != nil {
		return 0, 0, err
	}
	copying := time.Now()
	if err := run(a); err != nil {
		return 0, 0, err
	}
	net = time.Since(copying)
	if err := a.Shutdown(ctx); err != nil {
		return 0, 0, err
	}
	return time.Since(began), net, nil
}

// same compares two files.
func same(one, two string) error {
	f, err := os.Open(one)
	if err != nil {
		return err
	}
	defer f.Close()
	g, err := os.Open(two)
	if err != nil {
		return err
	}
	defer g.Close()
	a, b := make([]byte, mib), make([]byte, mib)
	for at := 0; ; at++ {
		n, errA := io.ReadFull(f, a)
		m, errB := io.ReadFull(g, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return fmt.Errorf("%s and %s differ after %d MiB", one, two, at)
		}
		if errA != nil || errB != nil {
			if errors.Is(errA, io.EOF) || errors.Is(errA, io.ErrUnexpectedEOF) {
				return nil
			}
			return errors.Join(errA, errB)
		}
	}
}
