package build

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/initramfs"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/toolbox"
)

// Which says where an appliance's kernel comes from.
type Which int

const (
	// Auto takes our own kernel where it has been built, and the distribution's otherwise.
	Auto Which = iota
	// Own builds our own kernel where there is none of the current source. That takes minutes.
	Own
	// Distribution fetches the distribution's kernel where it is not there.
	Distribution
)

// Options say what Ensure makes appliances from.
type Options struct {
	CacheDir  string // "": cache.DefaultDir
	AgentPath string // the taproom-init binary, static; "": the one beside this program
	Which     Which
	// Network is for appliances with a NIC: our own kernel is then the built-in guest's, which has IP. The distribution's always has.
	Network bool
	Force   bool // build our own kernel although it is there
	// Check boots a kernel of our own before it is kept, with the initramfs that the Files name. With Own it must be there; it is
	// launch.Check's.
	Check func(context.Context, Files) error
	// Progress is told what takes long, in a few words; nil tells nobody.
	Progress func(string)

	held func(Files) error // is called before anybody can remove the files; nil for none
}

// Files are what an appliance boots from. They are never written again: what is made from other inputs has other names.
type Files struct {
	Kernel string
	Initrd string
	Tools  string // a read-only squashfs with the distribution's tools; "" where it was not made
	// Cmdline is for an appliance that is booted, TemplateCmdline for one that is frozen and whose clones are to be idle cheaply.
	Cmdline, TemplateCmdline []string
	Key                      string // differs where any of the inputs does
	Memory                   int    // MiB that are enough to mount any one file system
	Own                      bool   // the kernel is of our own configuration
	Network                  bool   // it has drivers for NICs, and IP
	UML                      UMLFiles
}

// Ensure finds what appliances boot from, and makes what is missing: the initramfs, and as o.Which says the kernel.
// Several processes may do so at once.
func Ensure(ctx context.Context, o Options) (Files, error) {
	f, err := ensure(ctx, o)
	if err != nil {
		return Files{}, fmt.Errorf("prepare what appliances boot from: %w", err)
	}
	return f, nil
}

// EnsureHeld is Ensure and keeps the files where they are until release: for who opens them soon after.
func EnsureHeld(ctx context.Context, o Options) (f Files, release func(), err error) {
	o.held = func(f Files) (err error) {
		paths := slices.DeleteFunc([]string{f.Kernel, f.Initrd, f.Tools, f.UML.Kernel, f.UML.Initrd}, func(path string) bool { return path == "" })
		release, err = cache.Hold(paths...)
		return err
	}
	f, err = Ensure(ctx, o)
	return f, release, err
}

func ensure(ctx context.Context, o Options) (Files, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	agent, err := readAgent(o.AgentPath)
	if err != nil {
		return Files{}, err
	}
	c, err := cache.Open(o.CacheDir)
	if err != nil {
		return Files{}, err
	}
	k, own, err := ownKernel(ctx, c, agent, o)
	if err != nil {
		return Files{}, err
	}
	unlock, err := lockFolder(ctx, c, o.Progress)
	if err != nil {
		return Files{}, err
	}
	defer unlock()
	if !own {
		if k, err = kernel.Ensure(ctx, c, o.Progress); err != nil {
			return Files{}, err
		}
	}
	l := layout(k, agent)
	initrd, err := l.Ensure(ctx, c, initrdPrefix, o.Progress)
	if err != nil {
		return Files{}, err
	}
	used(initrd)
	sweep(c, initrdPrefix+"*", initrd)
	f := Files{
		Kernel: k.Image, Initrd: initrd, Cmdline: coldCommandLine(own), TemplateCmdline: commandLine(own), Own: own,
		Memory: ownMemory, Network: o.Network || !own,
	}
	if !own {
		f.Memory = distributionMemory
	}
	f.Tools, _ = toolbox.Find(c)
	if f.UML, err = findUML(ctx, c, agent, o.Progress); err != nil {
		return Files{}, err
	}
	f.Key = key(k.Image, l.Key(), f.Cmdline, f.TemplateCmdline)
	if o.held != nil {
		err = o.held(f)
	}
	return f, err
}

// readAgent reads the agent, where no path is given the one that was installed with this program.
func readAgent(path string) ([]byte, error) {
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the appliance's agent: %w", err)
		}
		path = filepath.Join(filepath.Dir(self), "taproom-init")
	}
	return initramfs.ReadAgent(path)
}

// key is a short hash of what an appliance boots from. A kernel's path names its version or its inputs.
func key(kernel, initrd string, lines ...[]string) string {
	h := sha256.New()
	for _, part := range slices.Concat([]string{kernel, initrd}, slices.Concat(lines...)) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

const (
	initrdPrefix = "appliance-"
	// unusedFor is how long what was made for another version of taproom is kept: long enough for programs of two versions
	// that take turns, and for one that has looked a file up and not opened it yet.
	unusedFor = 24 * time.Hour
	// Of those that were used within a day so many stay, the ones used last; who builds taproom over and over makes another one each
	// time. What was used within the last hour stays besides.
	unusedKept  = 6
	unusedAgain = time.Hour
)

const (
	// The modules and tables of the distribution's kernel fill 128 MiB when all of them are loaded.
	ownMemory, distributionMemory = 128, 256
)

// used notes that a file is in use. Where that is not allowed, whoever may will make it again one day.
func used(path string) { _ = os.Chtimes(path, time.Time{}, time.Now()) }

// sweep removes what matches a pattern and was not used for long, and what processes left that were killed.
func sweep(c cache.Folder, pattern string, keep ...string) {
	list, _ := filepath.Glob(c.Path(pattern))
	idle := map[string]time.Duration{}
	for _, path := range list {
		if info, err := os.Stat(path); err == nil {
			idle[path] = time.Since(info.ModTime())
		}
	}
	for i, path := range slices.SortedFunc(maps.Keys(idle), func(a, b string) int { return cmp.Or(cmp.Compare(idle[a], idle[b]), strings.Compare(a, b)) }) {
		if idle[path] < unusedAgain || idle[path] < unusedFor && i < unusedKept {
			keep = append(keep, path)
		}
	}
	c.Sweep(pattern, keep...)
}

// ownKernel returns the kernel of our configuration where that is what was asked for.
func ownKernel(ctx context.Context, c cache.Folder, agent []byte, o Options) (k kernel.Kernel, own bool, err error) {
	switch o.Which {
	case Auto:
		k, own = kbuild.Find(c, o.config())
		return k, own, nil
	case Own:
		k, err = buildKernel(ctx, c, agent, o)
		return k, true, err
	case Distribution:
	}
	return kernel.Kernel{}, false, nil
}

// config is the configuration of the kernel that was asked for.
func (o Options) config() kbuild.Config {
	if o.Network {
		return kbuild.Guest()
	}
	return kbuild.Appliance()
}

func buildKernel(ctx context.Context, c cache.Folder, agent []byte, o Options) (kernel.Kernel, error) {
	if o.Check == nil {
		return kernel.Kernel{}, ErrNoCheck
	}
	return kbuild.Build(ctx, c, o.config(), kbuild.Options{
		Force: o.Force, Progress: o.Progress,
		Check: func(ctx context.Context, image string) error { return o.checked(ctx, agent, image) },
	})
}

// layout is an appliance's initramfs.
func layout(k kernel.Kernel, agent []byte) initramfs.Layout {
	return initramfs.Layout{
		Agent: agent, Kernel: k, Wanted: slices.Concat(bootModules(), askedModules()), Boot: bootModules(),
		Folders: []string{"run", "sysroot", "tools"},
	}
}

// commandLine is what a kernel is started with that is to be frozen, in words.
func commandLine(own bool) []string {
	words := []string{
		"quiet", "console=ttyS0",
		"panic=-1", "reboot=t", // QEMU is told that a reset is the end
		"tsc=reliable", "no_timer_check", "lpj=5000000", // QEMU's clocks need no calibration
		"random.trust_cpu=on", // no wait for entropy
		// What the kernel does not know is in the first process's environment. In emulation, code that runs for the first time takes longer
		// than Go's runtime lets a goroutine run, and it would send signals all the time.
		"GODEBUG=asyncpreemptoff=1",
	}
	if !own { // ours has neither
		words = append(words, "cryptomgr.notests", "mitigations=off")
	}
	return words
}

// coldCommandLine is what a kernel is started with that lives shortly. Without the timer of its interrupt controller, whose
// calibration takes a quarter of a second in emulation, it cannot stop its tick when it is idle.
func coldCommandLine(own bool) []string { return append(commandLine(own), "nolapic_timer") }
