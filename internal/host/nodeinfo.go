package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// NodeInfo is what a machine is made of. Sockets are those of one NUMA node, cores those of one socket, threads those of
// one core, so that the product is at least CPUs.
type NodeInfo struct {
	Arch      string // "x86_64"
	Model     string // the CPU's own name
	MemoryKiB uint64
	CPUs      int // online
	MHz       int
	Nodes     int
	Sockets   int
	Cores     int
	Threads   int
}

// NodeInfo reads /proc and /sys. What a kernel does not tell counts as one.
func (k *Kernel) NodeInfo() (NodeInfo, error) {
	k.Step("node info")
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return NodeInfo{}, fmt.Errorf("uname: %w", err)
	}
	n := NodeInfo{Arch: unix.ByteSliceToString(uts.Machine[:]), Nodes: 1}
	mem, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return n, err
	}
	n.MemoryKiB = meminfo(mem, "MemTotal")
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return n, err
	}
	n.Model, n.MHz, n.CPUs = cpuinfo(cpu)
	if nodes, _ := filepath.Glob("/sys/devices/system/node/node[0-9]*"); len(nodes) > 0 {
		n.Nodes = len(nodes)
	}
	n.topology("/sys/devices/system/cpu")
	return n, nil
}

// MemoryFreeKiB is what is free without reclaiming anything.
func (k *Kernel) MemoryFreeKiB() (uint64, error) {
	k.Step("node info")
	mem, err := os.ReadFile("/proc/meminfo")
	return meminfo(mem, "MemFree"), err
}

func meminfo(b []byte, name string) uint64 {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			v, _ := strconv.ParseUint(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return v
		}
	}
	return 0
}

func cpuinfo(b []byte) (model string, mhz, cpus int) {
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "processor":
			cpus++
		case "model name":
			model = value
		case "cpu MHz":
			f, _ := strconv.ParseFloat(value, 64)
			mhz = int(f)
		}
	}
	return model, mhz, max(cpus, 1)
}

// topology counts packages, cores and threads of the online CPUs below dir.
func (n *NodeInfo) topology(dir string) {
	cores, threads := map[string]map[string]bool{}, map[[2]string]int{}
	cpus, _ := filepath.Glob(dir + "/cpu[0-9]*")
	for _, c := range cpus {
		pkg, perr := os.ReadFile(c + "/topology/physical_package_id")
		core, cerr := os.ReadFile(c + "/topology/core_id")
		if perr != nil || cerr != nil {
			continue // offline
		}
		p, id := strings.TrimSpace(string(pkg)), strings.TrimSpace(string(core))
		if cores[p] == nil {
			cores[p] = map[string]bool{}
		}
		cores[p][id] = true
		threads[[2]string{p, id}]++
	}
	n.Sockets, n.Cores, n.Threads = max(len(cores)/n.Nodes, 1), 1, 1
	for _, c := range cores {
		n.Cores = max(n.Cores, len(c))
	}
	for _, t := range threads {
		n.Threads = max(n.Threads, t)
	}
}
