package appliance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kernel"
)

// Options say what Ensure makes a guest from.
type Options struct {
	CacheDir  string        // "": cache.DefaultDir
	AgentPath string        // the taproom-agent binary, static
	Kernel    kernel.Kernel // zero: our own where it has been built, and the distribution's otherwise
	// Progress is told what takes long, in a few words; nil tells nobody.
	Progress func(string)
}

// Guest is what QEMU needs to boot the built-in guest. Kernel and Initrd are stable names in the cache, the same after
// an update: symbolic links, to be resolved when they are opened.
type Guest struct {
	Kernel  string
	Initrd  string
	Cmdline string
	Version string // of the kernel
}

// Ensure makes the built-in guest, or finds it made. With a warm cache it takes milliseconds and runs no program.
func Ensure(ctx context.Context, o Options) (Guest, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	c, err := cache.Open(o.CacheDir)
	if err != nil {
		return Guest{}, err
	}
	unlock, err := c.Lock(ctx, func() { o.Progress("waiting for another process that prepares the guest") })
	if err != nil {
		return Guest{}, err
	}
	defer unlock()
	k := o.Kernel
	if k == (kernel.Kernel{}) {
		if k, err = chooseKernel(ctx, c, o.Progress); err != nil {
			return Guest{}, fmt.Errorf("prepare the built-in guest: %w", err)
		}
	}
	l, err := layout(k, o.AgentPath)
	if err != nil {
		return Guest{}, fmt.Errorf("prepare the built-in guest: %w", err)
	}
	initrd, err := l.Ensure(ctx, c, "initramfs-", o.Progress)
	if err != nil {
		return Guest{}, fmt.Errorf("prepare the built-in guest: %w", err)
	}
	g := Guest{Cmdline: CommandLine(), Version: k.Version}
	links := []link{{"initramfs", initrd, &g.Initrd}, {kernel.GuestLink, k.Image, &g.Kernel}}
	if k.ModulesDir == "" { // our own kernel boots with any initramfs, and the distribution's with its own alone
		slices.Reverse(links)
	}
	for _, l := range links {
		if *l.path, err = c.Link(l.name, l.to); err != nil {
			return Guest{}, fmt.Errorf("prepare the built-in guest: %w", err)
		}
	}
	c.Sweep("initramfs-*", initrd)
	return g, nil
}

// link is a stable name, and its path when it is there.
type link struct {
	name, to string
	path     *string
}

// chooseKernel takes the kernel of our configuration where it has been built, which boots in a third of the time.
func chooseKernel(ctx context.Context, c cache.Folder, progress func(string)) (kernel.Kernel, error) {
	if k, found := kbuild.Find(c, kbuild.Guest()); found {
		return k, nil
	}
	return kernel.Ensure(ctx, c, progress)
}

// CommandLine is what the guest's kernel is started with.
func CommandLine() string {
	return strings.Join([]string{
		"quiet", "console=ttyS0",
		"panic=-1", "reboot=a", // a crashed guest resets at once; "t" makes QEMU report up to five resets, this two
		"tsc=reliable", "no_timer_check", // QEMU's clocks need no calibration
		"random.trust_cpu=on", // no wait for entropy
		"cryptomgr.notests",   // self-tests of ciphers: 0.1 to 0.2 s without KVM
		"mitigations=off",     // nobody else lives in this guest
	}, " ")
}
