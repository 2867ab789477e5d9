package engine

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
)

// Identity is what keeps daemons with different roots apart where they share a kernel: each knows its own links, rules,
// processes and users by it.
type Identity struct {
	LinkGroup uint32 // ip link … group N
	Table     string // of nf_tables
	UIDFirst  uint32
	Slice     string // cgroup, below the root of cgroup v2
}

const (
	machineGroup = 0x7461 // "ta"
	firstUID     = 1_900_000_000
	uidsEach     = 65_536
	uidSlots     = 30_000 // 1.9e9 + 30,000 × 65,536 is still below 2^32
)

// UserIdentity is that of a session, by its run directory: there are only cgroups to keep apart.
func UserIdentity(run string) Identity {
	id := NewIdentity(run)
	return Identity{LinkGroup: id.LinkGroup, Slice: filepath.Base(id.Slice)}
}

// NewIdentity derives it from the root; "" is the machine's own daemon.
func NewIdentity(root string) Identity {
	if root == "" {
		return Identity{LinkGroup: machineGroup, Table: "taproom", UIDFirst: firstUID, Slice: "taproom.slice"}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Clean(root))) // never fails
	sum := h.Sum32()
	return Identity{
		LinkGroup: machineGroup<<16 | sum&0xffff,
		Table:     fmt.Sprintf("taproom-%08x", sum),
		UIDFirst:  firstUID + (1+sum%(uidSlots-1))*uidsEach,
		Slice:     fmt.Sprintf("taproom.slice/root-%08x", sum),
	}
}
