package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/pool"
)

// emptyQEMU starts a QEMU without a machine and has it quit: what no way with QEMU can be faster than.
func (b *bootBench) emptyQEMU(ctx context.Context) (float64, error) {
	c := exec.CommandContext(ctx, "qemu-system-x86_64", "-M", "none", "-nodefaults", "-no-user-config", "-display", "none", "-monitor", "stdio")
	c.Stdin = strings.NewReader("quit\n")
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%q: %w: %s", c.Args, err, out)
	}
	return milliseconds(time.Since(began)), nil
}

// run launches an appliance, which is measured, and shuts it down.
func (b *bootBench) run(l *launch.Launcher, way string) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		b.stages.begin(way)
		began := time.Now()
		a, err := l.Launch(ctx)
		if err != nil {
			return 0, err
		}
		took := milliseconds(time.Since(began))
		if err := b.facts.learn(a, way); err != nil {
			return 0, errors.Join(err, a.Close())
		}
		asked := time.Now()
		if err := a.Shutdown(ctx); err != nil {
			return 0, err
		}
		b.stages.end(took, milliseconds(time.Since(asked)))
		return took, nil
	}
}

// askedByCLI has the command line ask the pool, in a process of its own, and returns what it says that took.
func (b *bootBench) askedByCLI(ctx context.Context) (float64, error) {
	ticket, err := b.ticket()
	if err != nil {
		return 0, err
	}
	c := exec.CommandContext(ctx, filepath.Join(b.o.Programs, "taproom"), "appliance", "pool", "--try", "--ticket", "--json")
	c.Stdin = strings.NewReader(string(ticket))
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("%q: %w: %s", c.Args, err, out)
	}
	var said struct {
		Ready float64 `json:"ready_ms"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return 0, fmt.Errorf("%q said %q: %w", c.Args, out, err)
	}
	return said.Ready, b.settle(ctx)
}

// makeDisk makes an ext4 image with a folder in it.
func makeDisk(ctx context.Context, dir string) (string, error) {
	from, to := filepath.Join(dir, "content"), filepath.Join(dir, "disk.img")
	if err := os.MkdirAll(filepath.Join(from, "etc"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(from, "etc/hostname"), []byte("image\n"), 0o644); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-d", from, to, "32M").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make a disk with mkfs.ext4, of e2fsprogs: %w: %s", err, out)
	}
	return to, nil
}

// ticket says which pool the command line is to ask.
func (b *bootBench) ticket() ([]byte, error) {
	order, err := pool.NewOrder(b.k, b.spec)
	if err != nil {
		return nil, err
	}
	place, err := pool.Find(b.k, b.poolOptions().Dir, order)
	if err != nil {
		return nil, err
	}
	return pool.Ticket{Order: order, Place: place}.Encode()
}
