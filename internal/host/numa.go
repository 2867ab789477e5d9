package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// NUMANode is one of the machine's memory nodes.
type NUMANode struct {
	ID       int
	TotalKiB uint64
	FreeKiB  uint64
	CPUs     string // a list such as 0-3,8
}

// NUMANodes reads the nodes, by number. A kernel without NUMA has node 0, which is the machine.
func (k *Kernel) NUMANodes() ([]NUMANode, error) {
	k.Step("numa nodes")
	nodes, err := numaNodes("/sys/devices/system/node")
	if err != nil || len(nodes) > 0 {
		return nodes, err
	}
	mem, err := os.ReadFile("/proc/meminfo")
	return []NUMANode{{TotalKiB: meminfo(mem, "MemTotal"), FreeKiB: meminfo(mem, "MemFree")}}, err
}

func numaNodes(dir string) ([]NUMANode, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byID := map[int]NUMANode{}
	most := -1
	for _, e := range entries {
		id, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "node"))
		if err != nil || !strings.HasPrefix(e.Name(), "node") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name(), "meminfo"))
		if err != nil {
			return nil, fmt.Errorf("read NUMA node %d: %w", id, err)
		}
		prefix := fmt.Sprintf("Node %d ", id) // of every line: "Node 0 MemFree:  123 kB"
		mem := []byte(strings.ReplaceAll(string(b), prefix, ""))
		n := NUMANode{ID: id, TotalKiB: meminfo(mem, "MemTotal"), FreeKiB: meminfo(mem, "MemFree")}
		if cpus, err := os.ReadFile(filepath.Join(dir, e.Name(), "cpulist")); err == nil {
			n.CPUs = strings.TrimSpace(string(cpus))
		}
		byID[id], most = n, max(most, id)
	}
	var out []NUMANode
	for id := range most + 1 {
		if n, ok := byID[id]; ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// HugePages are the pages of one size that a node has, or with -1 the machine.
type HugePages struct{ Total, Free uint64 }

// HugePages reads them. A size that the kernel does not have is a *Missing.
func (k *Kernel) HugePages(node int, sizeKiB uint64) (HugePages, error) {
	k.Step("huge pages")
	dir := "/sys/kernel/mm/hugepages"
	if node >= 0 {
		dir = fmt.Sprintf("/sys/devices/system/node/node%d/hugepages", node)
	}
	return hugePages(dir, sizeKiB)
}

func hugePages(dir string, sizeKiB uint64) (HugePages, error) {
	dir = filepath.Join(dir, fmt.Sprintf("hugepages-%dkB", sizeKiB))
	var p HugePages
	for _, f := range []struct {
		name  string
		value *uint64
	}{{"nr_hugepages", &p.Total}, {"free_hugepages", &p.Free}} {
		b, err := os.ReadFile(filepath.Join(dir, f.name))
		if errors.Is(err, fs.ErrNotExist) {
			return p, &Missing{What: fmt.Sprintf("huge pages of %d KiB", sizeKiB), Config: fmt.Sprintf("hugepagesz=%dK in the boot parameters, on a processor that has them", sizeKiB), Err: err}
		}
		if err == nil {
			*f.value, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		}
		if err != nil {
			return p, fmt.Errorf("read the number of huge pages: %w", err)
		}
	}
	return p, nil
}

// HugePageKiB is the size of huge pages that the kernel takes by itself; 0 where it has none.
func (k *Kernel) HugePageKiB() uint64 {
	k.Step("huge pages")
	mem, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return meminfo(mem, "Hugepagesize")
}
