package build

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kbuild"
	"taproom/internal/appliance/toolbox"
)

// Kept is one thing in the cache that appliances boot from.
type Kept struct {
	Kind   string `json:"kind"` // kernel, initramfs or tools
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source,omitempty"` // of a kernel of our own
	// Current is what this program takes: the newest of what it could have made itself.
	Current bool `json:"current"`
}

// List returns what was made for appliances, by kind and path. The distribution's kernel is the built-in guest's as well, and is not
// in it.
func List(cacheDir string) ([]Kept, error) {
	c, err := cache.Open(cacheDir)
	if err != nil {
		return nil, err
	}
	config := kbuild.Appliance()
	own, _ := kbuild.Find(c, config)
	list := []Kept{}
	for _, b := range kbuild.List(c) {
		image := filepath.Join(b.Dir, filepath.Base(own.Image))
		list = append(list, Kept{Kind: "kernel", Path: b.Dir, Bytes: b.Bytes, Source: b.Source, Current: own.Image != "" && image == own.Image})
	}
	tools, _ := toolbox.Find(c)
	for _, path := range toolbox.List(c) {
		list = append(list, file("tools", path, path == tools))
	}
	archives, err := filepath.Glob(c.Path(initrdPrefix + "*"))
	if err != nil {
		return nil, err
	}
	newest := slices.MaxFunc(append([]string{""}, archives...), func(a, b string) int { return cmp.Compare(modified(a), modified(b)) })
	for _, path := range archives {
		list = append(list, file("initramfs", path, path == newest))
	}
	slices.SortFunc(list, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path)) })
	return list, nil
}

func file(kind, path string, current bool) Kept {
	k := Kept{Kind: kind, Path: path, Current: current}
	if info, err := os.Stat(path); err == nil {
		k.Bytes = info.Size()
	}
	return k
}

// modified is when a file was last written or used, as a number; 0 where it is not there.
func modified(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// Clean removes what List shows and this program does not take, or all of it, and returns what it removed. An appliance that runs
// has read what it needs, but for the tools: their disk stays open until the appliance ends.
func Clean(ctx context.Context, cacheDir string, all bool) ([]Kept, error) {
	c, err := cache.Open(cacheDir)
	if err != nil {
		return nil, err
	}
	unlock, err := c.Lock(ctx, func() {})
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := List(cacheDir)
	if err != nil {
		return nil, err
	}
	gone := []Kept{}
	for _, k := range list {
		if k.Current && !all {
			continue
		}
		if err := os.RemoveAll(k.Path); err != nil {
			return gone, fmt.Errorf("remove what appliances boot from: %w", err)
		}
		gone = append(gone, k)
	}
	return gone, nil
}
