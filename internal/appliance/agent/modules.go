package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/modalias"
)

// loader loads kernel modules out of the initramfs.
type loader struct {
	dir    string
	table  *modalias.Table
	insert func(path string) error

	mu     sync.Mutex
	asked  map[string]bool  // what was wanted before: asking again changes nothing
	done   map[string]error // by file
	loaded []string
}

// openLoader reads the tables in dir. Without them it returns a loader that finds nothing, and the error.
func openLoader(dir string) (*loader, error) {
	l := &loader{dir: dir, insert: insertModule, asked: map[string]bool{}, done: map[string]error{}}
	empty, _ := modalias.ReadTable(strings.NewReader(""), strings.NewReader(""))
	l.table = empty
	dep, err := os.Open(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return l, err
	}
	defer dep.Close()
	alias, err := os.Open(filepath.Join(dir, "modules.alias"))
	if err != nil {
		return l, err
	}
	defer alias.Close()
	table, err := modalias.ReadTable(dep, alias)
	if err != nil {
		return l, err
	}
	l.table = table
	return l, nil
}

// bootModules loads what no device asks for by itself: the list in modules.boot.
func (l *loader) bootModules() {
	list, err := os.ReadFile(filepath.Join(l.dir, "modules.boot"))
	if err != nil {
		return
	}
	for _, name := range strings.Fields(string(list)) {
		l.want(name)
	}
}

// want loads what a device or a name asks for, and reports whether any module is new.
func (l *loader) want(want string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[want] {
		return false
	}
	l.asked[want] = true
	before := len(l.loaded)
	for _, module := range l.table.Modules(want) {
		_ = l.load(module) // a driver may refuse a device that it names
	}
	return len(l.loaded) > before
}

func (l *loader) load(module string) error {
	for _, file := range l.table.LoadOrder(module) {
		err, known := l.done[file]
		if !known {
			err = l.insert(filepath.Join(l.dir, file))
			l.done[file] = err
			if err == nil {
				l.loaded = append(l.loaded, modalias.Name(file))
			}
		}
		if err != nil {
			return fmt.Errorf("load %s for %s: %w", file, module, err)
		}
	}
	return nil
}

func (l *loader) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.loaded)
}

func insertModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// modprobe is what the kernel runs when it misses a module itself, a file system or a checksum: /sbin/modprobe in the
// initramfs is the agent.
func modprobe(args []string) int {
	l, err := openLoader(moduleDir)
	if err != nil {
		return 1
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		modules := l.table.Modules(arg)
		if len(modules) == 0 {
			return 1
		}
		for _, module := range modules {
			if l.load(module) != nil {
				return 1
			}
		}
	}
	return 0
}

// modaliases returns what the devices ask for, those behind which the most others wait first: the host is answered
// over virtio, and nobody waits for a disk during boot.
func modaliases(sys string) []string {
	paths, _ := filepath.Glob(filepath.Join(sys, "bus/*/devices/*/modalias"))
	var list []string
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if want := strings.TrimSpace(string(b)); err == nil && want != "" && !slices.Contains(list, want) {
			list = append(list, want)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return urgency(a) - urgency(b) })
	return list
}

func urgency(want string) int {
	switch {
	case strings.HasPrefix(want, "virtio:"):
		return 0
	case strings.HasPrefix(want, "pci:v00001AF4"):
		return 1
	case strings.HasPrefix(want, "acpi:"):
		return 2
	}
	return 3
}
