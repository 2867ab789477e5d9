package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/kernel"
	"taproom/internal/appliance/toolbox"
)

// Kept is one thing in the cache that appliances boot from.
type Kept struct {
	Kind   string `json:"kind"` // kernel, initramfs or tools
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source,omitempty"` // of a kernel of our own
	// Current is what this program takes.
	Current bool `json:"current"`

	file string // that who needs it holds: of a kernel's folder the kernel
}

// List returns what was made for appliances, by kind and path. The distribution's kernel is the built-in guest's as well, and is not
// in it.
func List(o Options) ([]Kept, error) {
	c, err := cache.Open(o.CacheDir)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, config := range []kbuild.Config{kbuild.Appliance(), kbuild.Guest(), kbuild.UML()} {
		if k, found := kbuild.Find(c, config); found {
			taken[filepath.Dir(k.Image)] = true
		}
	}
	list := []Kept{}
	for _, b := range kbuild.List(c) {
		list = append(list, Kept{Kind: "kernel", Path: b.Dir, Bytes: b.Bytes, Source: b.Source, Current: taken[b.Dir], file: b.Image})
	}
	tools, _ := toolbox.Find(c)
	for _, path := range toolbox.List(c) {
		list = append(list, file("tools", path, path == tools))
	}
	archives, err := filepath.Glob(c.Path(initrdPrefix + "*"))
	if err != nil {
		return nil, err
	}
	current := initramfsOf(c, o)
	for _, path := range archives {
		list = append(list, file("initramfs", path, slices.Contains(current, path)))
	}
	slices.SortFunc(list, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path)) })
	return list, nil
}

func file(kind, path string, current bool) Kept {
	k := Kept{Kind: kind, Path: path, Current: current, file: path}
	if info, err := os.Stat(path); err == nil {
		k.Bytes = info.Size()
	}
	return k
}

// initramfsOf are the paths at which this program would find an initramfs: for our own kernel, and for the distribution's.
func initramfsOf(c cache.Folder, o Options) []string {
	agent, err := readAgent(o.AgentPath)
	if err != nil {
		return nil // a program without an agent makes none
	}
	var paths []string
	for _, config := range []kbuild.Config{kbuild.Appliance(), kbuild.Guest()} {
		if k, found := kbuild.Find(c, config); found {
			paths = append(paths, c.Path(initrdPrefix+layout(k, agent).Key()))
		}
	}
	if _, found := kbuild.Find(c, kbuild.UML()); found {
		paths = append(paths, c.Path(initrdPrefix+layout(kernel.Kernel{}, agent).Key()))
	}
	if k, err := kernel.Cached(c.Dir()); err == nil {
		paths = append(paths, c.Path(initrdPrefix+layout(k, agent).Key()))
	}
	return paths
}

// isGuests says whether the built-in guest boots a kernel: its definitions name a link to it.
func isGuests(c cache.Folder, k Kept) bool {
	if k.Kind != "kernel" {
		return false
	}
	linked, err := os.Stat(c.Path(kernel.GuestLink))
	if err != nil {
		return false
	}
	own, err := os.Stat(k.file)
	return err == nil && os.SameFile(linked, own)
}

// Clean removes what List shows and this program does not take, or all of it, and returns what it removed. What another process
// makes it waits for; what programs that run launch appliances from stays, and so does the kernel that the built-in guest boots. An appliance that runs has read what it needs, but for
// the tools: their disk stays open until the appliance ends.
func Clean(ctx context.Context, o Options, all bool) ([]Kept, error) {
	c, err := cache.Open(o.CacheDir)
	if err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	for _, lock := range []func(context.Context, cache.Folder, func(string)) (func(), error){kbuild.Lock, toolbox.Lock, lockFolder} {
		unlock, err := lock(ctx, c, o.Progress)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	list, err := List(o)
	if err != nil {
		return nil, err
	}
	gone := []Kept{}
	for _, k := range list {
		if k.Current && !all {
			continue
		}
		if isGuests(c, k) {
			o.Progress(fmt.Sprintf("kept %s: the built-in guest boots it", k.Path))
			continue
		}
		err := cache.Remove(k.Path, k.file)
		if errors.Is(err, cache.ErrHeld) {
			o.Progress(fmt.Sprintf("kept %s: %v", k.Path, cache.ErrHeld))
			continue
		}
		if err != nil {
			return gone, fmt.Errorf("remove what appliances boot from: %w", err)
		}
		gone = append(gone, k)
	}
	return gone, nil
}

// lockFolder keeps others from making what is in the folder itself.
func lockFolder(ctx context.Context, c cache.Folder, progress func(string)) (unlock func(), err error) {
	return c.Lock(ctx, func() { progress("waiting for another process that prepares the same") })
}
