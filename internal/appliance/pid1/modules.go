package pid1

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

// ModuleDir is where an initramfs has its modules and their tables.
const ModuleDir = "/lib/modules"

// Loader loads kernel modules out of the initramfs.
type Loader struct {
	dir    string
	table  *modalias.Table
	insert func(path string) error

	mu     sync.Mutex
	asked  map[string]bool  // what was wanted before: asking again changes nothing
	done   map[string]error // by file
	loaded []string
}

// OpenLoader reads the tables in dir. Without them it returns a loader that finds nothing, and the error.
func OpenLoader(dir string) (*Loader, error) {
	l := &Loader{dir: dir, insert: insertModule, asked: map[string]bool{}, done: map[string]error{}}
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

// BootModules loads what no device asks for by itself: the list in modules.boot.
func (l *Loader) BootModules() {
	list, err := os.ReadFile(filepath.Join(l.dir, "modules.boot"))
	if err != nil {
		return
	}
	for _, name := range strings.Fields(string(list)) {
		l.Want(name)
	}
}

// Want loads what a device or a name asks for, and reports whether any module is new.
func (l *Loader) Want(want string) bool {
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

func (l *Loader) load(module string) error {
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

// Names are the modules that were loaded.
func (l *Loader) Names() []string {
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

// Modprobe is what the kernel runs when it misses a module itself, a file system or a checksum: /sbin/modprobe in the
// initramfs is the first process. It returns the exit status.
func Modprobe(args []string) int {
	l, err := OpenLoader(ModuleDir)
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
