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

// scanner finds what the devices in a sysfs ask for, each thing once.
type scanner struct {
	sys     string
	seen    map[string]bool // paths: reading a file again costs more than it can tell
	wanted  map[string]bool
	waiting [leastUrgent + 1][]string
}

func newScanner(sys string) *scanner {
	return &scanner{sys: sys, seen: map[string]bool{}, wanted: map[string]bool{}}
}

// scan looks for devices that were not there before.
func (s *scanner) scan() {
	for _, bus := range readNames(filepath.Join(s.sys, "bus")) {
		devices := filepath.Join(s.sys, "bus", bus, "devices")
		for _, device := range readNames(devices) {
			path := filepath.Join(devices, device)
			if s.seen[path] {
				continue
			}
			s.seen[path] = true
			if want := readText(filepath.Join(path, "modalias")); want != "" && !s.wanted[want] {
				s.wanted[want] = true
				u := urgency(want)
				s.waiting[u] = append(s.waiting[u], want)
			}
		}
	}
}

// next returns the most urgent of what was found and not returned yet.
func (s *scanner) next() ([]string, bool) {
	for u, list := range s.waiting {
		if len(list) > 0 {
			s.waiting[u] = nil
			return list, true
		}
	}
	return nil, false
}

const leastUrgent = 5

// urgency orders devices: the host's port and what leads to it, NICs, buttons, everything else.
func urgency(want string) int {
	switch {
	case strings.HasPrefix(want, "virtio:d00000003v"): // console
		return 0
	case strings.HasPrefix(want, "pci:v00001AF4"):
		return 1
	case strings.HasPrefix(want, "virtio:d00000001v"): // network
		return 2
	case strings.HasPrefix(want, "pci:") && strings.Contains(want, "bc02sc"): // network
		return 3
	case strings.HasPrefix(want, "virtio:"), strings.HasPrefix(want, "acpi:"):
		return 4
	}
	return leastUrgent
}
