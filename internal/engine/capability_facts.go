package engine

import (
	"context"
	"crypto/sha256"
	"os"
	"strconv"
	"strings"

	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/spec"
)

// capabilityFacts gathers what the capability documents say of this host and one emulator.
func (e *Engine) capabilityFacts(ctx context.Context, emulator string) (guest.CapFacts, error) {
	h, err := e.hostFacts(ctx, emulator)
	if err != nil {
		return guest.CapFacts{}, err
	}
	c, err := e.capabilities(ctx, emulator)
	if err != nil {
		return guest.CapFacts{}, err
	}
	f := guest.CapFacts{
		Host: h, UUID: e.hostUUID(), PageSizes: []uint64{uint64(os.Getpagesize()) >> 10},
		Models: map[string][]guest.CPUModel{}, OneUser: e.cfg.Session != nil,
	}
	_, err = e.k.LookPath("swtpm")
	f.Companions.SWTPM = err == nil
	_, err = e.findVirtiofsd()
	f.Companions.VirtioFSD = err == nil
	for accel, models := range c.CPUs {
		for _, m := range models {
			f.Models[accel] = append(f.Models[accel], guest.CPUModel{Name: m.Name, Usable: m.Usable(), Deprecated: m.Deprecated})
		}
	}
	f.HostModels = map[string]*spec.CPU{}
	for accel := range c.CPUs {
		f.HostModels[accel] = knownCPUs(c, accel).HostModel()
	}
	n, err := e.k.NodeInfo()
	if err != nil {
		return f, err
	}
	f.Topology = &spec.Topology{
		Sockets: strconv.Itoa(n.Sockets * max(n.Nodes, 1)), Dies: "1", Cores: strconv.Itoa(n.Cores), Threads: strconv.Itoa(n.Threads),
	}
	f.Cells = []guest.Cell{cellOf(n)}
	f.CPUModel, f.CPUVendor, f.CPUFlags = e.processor()
	return f, nil
}

// cellOf shows the whole machine as one cell: guests are not placed on nodes.
func cellOf(n host.NodeInfo) guest.Cell {
	cell := guest.Cell{MemoryKiB: n.MemoryKiB}
	threads := max(n.Threads, 1)
	for id := range n.CPUs {
		core := id / threads
		cell.CPUs = append(cell.CPUs, guest.HostCPU{
			ID: id, Socket: core / max(n.Cores, 1), Core: core % max(n.Cores, 1), Siblings: siblings(core*threads, threads),
		})
	}
	return cell
}

func siblings(first, n int) string {
	if n == 1 {
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + "-" + strconv.Itoa(first+n-1)
}

// hostUUID names this host in documents. It is derived from the machine's own number, which stays private.
func (e *Engine) hostUUID() *spec.UUID {
	id, err := e.k.ReadFileLimit("/etc/machine-id", 256)
	if err != nil {
		id = []byte(e.Hostname())
	}
	var u spec.UUID
	sum := sha256.Sum256(append([]byte("taproom host "), id...))
	copy(u[:], sum[:])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // version 8: made in a way of our own (RFC 9562)
	return &u
}

// processor is what /proc/cpuinfo says of the first CPU.
func (e *Engine) processor() (model, vendor string, flags []string) {
	b, err := e.k.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", "", nil
	}
	first, _, _ := strings.Cut(string(b), "\n\n")
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "vendor_id":
			vendor = strings.NewReplacer("GenuineIntel", "Intel", "AuthenticAMD", "AMD").Replace(value)
		case "flags":
			flags = strings.Fields(value)
		}
	}
	return "", vendor, flags
}
