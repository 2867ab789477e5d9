package kbuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/debian"
	"taproom/internal/appliance/kernel"
)

// Names of files in a built kernel's folder.
const (
	folder       = "own" // in the cache
	imageName    = "vmlinux"
	configName   = "config"
	manifestName = "manifest.json"
)

// recipe changes whenever the same inputs would make another kernel.
const recipe = "1"

// Manifest says what a kernel was built from.
type Manifest struct {
	Config   string `json:"config"`   // the configuration's name
	Source   string `json:"source"`   // package and version
	Compiler string `json:"compiler"` // and linker
	SHA256   string `json:"sha256"`   // of the kernel
}

// Options say how Build works.
type Options struct {
	Jobs  int  // make's; 0: a job for each processor
	Force bool // build although it is there
	// Check boots a kernel before it gets its name. It must not be nil.
	Check    func(ctx context.Context, image string) error
	Progress func(string)
}

// open is the folder of built kernels in a cache.
func open(c cache.Folder) (cache.Folder, error) { return cache.Open(c.Path(folder)) }

// Lock keeps others from building kernels and from removing them. It waits for who does.
func Lock(ctx context.Context, outer cache.Folder, progress func(string)) (unlock func(), err error) {
	c, err := open(outer)
	if err != nil {
		return nil, err
	}
	return c.Lock(ctx, func() { progress("waiting for another process that builds a kernel") })
}

// Find returns the newest kernel that was built with a configuration, whatever the source's version and the compiler. It runs
// no program and waits for nobody.
func Find(c cache.Folder, config Config) (kernel.Kernel, bool) {
	list, _ := filepath.Glob(c.Path(Place(config, "*")))
	var newest string
	var at int64
	for _, path := range list {
		if info, err := os.Stat(path); err == nil && info.ModTime().UnixNano() > at {
			newest, at = path, info.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return kernel.Kernel{}, false
	}
	return kernel.Kernel{Image: newest, Version: filepath.Base(filepath.Dir(newest))}, true
}

// prefix begins the names of the kernels of a configuration.
func (c Config) prefix() string { return c.Name + "-" + c.hash() + "-" }

// Place is where in a cache a kernel lies that was built of inputs with a key.
func Place(config Config, key string) string {
	return filepath.Join(folder, config.prefix()+key, imageName)
}

// Build builds a kernel, or finds that there is one of the current source, configuration and compiler.
func Build(ctx context.Context, c cache.Folder, config Config, o Options) (kernel.Kernel, error) {
	k, err := build(ctx, c, config, o)
	if err != nil {
		return kernel.Kernel{}, fmt.Errorf("build the kernel %q: %w", config.Name, err)
	}
	return k, nil
}

func build(ctx context.Context, outer cache.Folder, config Config, o Options) (kernel.Kernel, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := checkTools(ctx); err != nil {
		return kernel.Kernel{}, err
	}
	c, err := open(outer)
	if err != nil {
		return kernel.Kernel{}, err
	}
	unlock, err := Lock(ctx, outer, o.Progress)
	if err != nil {
		return kernel.Kernel{}, err
	}
	defer unlock()
	c.Sweep("") // what a process left that was killed
	work, err := c.Work()
	if err != nil {
		return kernel.Kernel{}, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	apt := debian.New(work)
	source, err := findSource(ctx, apt, o.Progress)
	if err != nil {
		return kernel.Kernel{}, err
	}
	m := Manifest{Config: config.Name, Source: source.Name + " " + source.Version}
	if m.Compiler, err = compiler(ctx); err != nil {
		return kernel.Kernel{}, err
	}
	final := filepath.Dir(outer.Path(Place(config, m.key())))
	if cache.Exists(final) && !o.Force {
		return kernel.Kernel{Image: filepath.Join(final, imageName), Version: filepath.Base(final)}, nil
	}
	fresh := filepath.Join(work, "kernel")
	if err := m.buildIn(ctx, work, fresh, apt, source, config, o); err != nil {
		return kernel.Kernel{}, err
	}
	return publish(fresh, final)
}

// key is a short hash of everything but the configuration that a kernel is made from.
func (m Manifest) key() string {
	h := sha256.New()
	for _, part := range []string{recipe, m.Source, m.Compiler} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// buildIn fetches, compiles and boots, and leaves in fresh what is kept.
func (m *Manifest) buildIn(ctx context.Context, work, fresh string, apt *debian.Apt, source debian.Package, config Config, o Options) error {
	if err := checkRoom(work); err != nil {
		return err
	}
	dir, err := fetchSource(ctx, apt, source, work, o.Progress)
	if err != nil {
		return err
	}
	t := tree{source: dir, objects: filepath.Join(work, "objects"), jobs: o.Jobs, arch: cmp.Or(config.arch, "x86_64")}
	if t.jobs == 0 {
		t.jobs = runtime.NumCPU()
	}
	for _, e := range config.edits {
		if err := e.apply(dir); err != nil {
			return err
		}
	}
	o.Progress("configuring the kernel")
	if err := t.configure(ctx, config); err != nil {
		return err
	}
	image, err := t.compile(ctx, counted(config.steps, o.Progress))
	if err != nil {
		return err
	}
	o.Progress("booting the kernel to check it")
	if err := o.Check(ctx, image); err != nil {
		return fmt.Errorf("what was built does not work: %w", err)
	}
	return m.keep(image, filepath.Join(t.objects, ".config"), fresh, config)
}

// counted tells how far a build is, at every hundredth of it. What it takes in all is known only about.
func counted(steps int, progress func(string)) func() {
	n, told := 0, -1
	return func() {
		n++
		if percent := min(99, n*100/steps); percent > told {
			told = percent
			progress(fmt.Sprintf("compiling the kernel: %d %%", percent))
		}
	}
}

// keep puts into a folder what is kept of a build. User-Mode Linux is a program.
func (m *Manifest) keep(image, settings, fresh string, config Config) error {
	content, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if config.arch == "" {
		mode = 0o644
		if err := kernel.CheckPVH(content); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(content)
	m.SHA256 = hex.EncodeToString(sum[:])
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	finished, err := os.ReadFile(settings)
	if err != nil {
		return err
	}
	if err := cache.MkdirAll(fresh); err != nil {
		return err
	}
	for name, b := range map[string][]byte{configName: finished, manifestName: append(manifest, '\n')} {
		if err := writeSynced(filepath.Join(fresh, name), b, 0o644); err != nil {
			return err
		}
	}
	return writeSynced(filepath.Join(fresh, imageName), content, mode)
}

func writeSynced(path string, b []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()) // whatever the umask: another user reads it, or executes it
}

// publish gives a folder its name. One that has it already is exchanged for it at once: there is no moment without the name, and
// the old one goes with the folder that was worked in.
func publish(fresh, final string) (kernel.Kernel, error) {
	err := unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, final, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOENT) {
		err = os.Rename(fresh, final)
	}
	if err != nil {
		return kernel.Kernel{}, fmt.Errorf("keep the kernel as %s: %w", final, err)
	}
	return kernel.Kernel{Image: filepath.Join(final, imageName), Version: filepath.Base(final)}, nil
}

// Built is a kernel in the cache.
type Built struct {
	Manifest
	Dir   string
	Image string // its path
	Bytes int64
}

// List returns what was built, with whatever configuration, by name.
func List(c cache.Folder) []Built {
	list, _ := filepath.Glob(filepath.Join(c.Path(folder), "*", manifestName))
	var out []Built
	for _, path := range list {
		b := Built{Dir: filepath.Dir(path), Image: filepath.Join(filepath.Dir(path), imageName)}
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &b.Manifest) != nil {
			continue // being replaced
		}
		if info, err := os.Stat(b.Image); err == nil {
			b.Bytes = info.Size()
		}
		out = append(out, b)
	}
	return out
}
