package doctor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of linux/netfilter_ipv4/ip_tables.h.
const (
	iptGetInfo    = 64
	iptGetEntries = 65
	iptNameSize   = 32
	iptInfoSize   = iptNameSize + 4 + 5*4 + 5*4 + 4 + 4
	iptMaxSize    = 64 << 20
	iptForward    = 2
	iptTargetAt   = 88 // offset of target_offset in struct ipt_entry
	iptVerdictAt  = 32 // offset of the verdict in a standard target
	iptDrop       = -1
)

// legacyTable is what the old interface says of one table.
type legacyTable struct {
	name        string
	rules       int // beyond the policies
	dropForward bool
}

// checkIPTablesLegacy looks for rules of the old interface, which nft does not show. Only tables that are already there
// are asked about: asking makes the kernel create the others.
func checkIPTablesLegacy(_ context.Context, e Env) []Finding {
	e.Kernel.Step("doctor read ip_tables")
	var names []byte
	var err error
	var tables []legacyTable
	e.Kernel.InNetNS(func() {
		if names, err = os.ReadFile("/proc/thread-self/net/ip_tables_names"); err == nil {
			tables, err = legacyTables(strings.Fields(string(names)))
		}
	})
	f := Finding{Name: "iptables-legacy", Status: OK, Evidence: "no rules"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Evidence = "the kernel has no legacy iptables"
		return []Finding{f}
	case err != nil:
		return []Finding{{f.Name, Unknown, err.Error(), "run as root"}}
	}
	var seen []string
	for _, t := range tables {
		if t.rules > 0 || t.dropForward {
			seen = append(seen, fmt.Sprintf("table %s: %d rules", t.name, t.rules))
		}
		if t.dropForward {
			seen = append(seen, fmt.Sprintf("table %s: policy of FORWARD is DROP", t.name))
			f.Status = Problem
			f.Remedy = "iptables-legacy -I FORWARD -i virbr+ -j ACCEPT; iptables-legacy -I FORWARD -o virbr+ -j ACCEPT (the names of your bridges): an accept in nft does not outweigh this drop"
		}
	}
	if len(seen) > 0 {
		f.Evidence = strings.Join(seen, "; ")
		if f.Status == OK {
			f.Status = Warning
			f.Remedy = "these rules see guests' packets as well and do not show in nft; move them with iptables-legacy-save | iptables-nft-restore, or look at them with iptables-legacy -S"
		}
	}
	return []Finding{f}
}

// legacyTables asks the kernel in the calling thread's network namespace.
func legacyTables(names []string) ([]legacyTable, error) {
	if len(names) == 0 {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return nil, fmt.Errorf("open a raw socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // only read from
	var out []legacyTable
	for _, name := range names {
		info := make([]byte, iptInfoSize)
		copy(info[:iptNameSize-1], name)
		if err := getsockopt(fd, iptGetInfo, info); err != nil {
			return nil, fmt.Errorf("read legacy table %s: %w", name, err)
		}
		size := binary.NativeEndian.Uint32(info[iptInfoSize-4:])
		if size > iptMaxSize {
			return nil, fmt.Errorf("legacy table %s has %d bytes", name, size)
		}
		entries := make([]byte, iptNameSize+8+size) // struct ipt_get_entries: name, size, padding to 8
		copy(entries[:iptNameSize-1], name)
		binary.NativeEndian.PutUint32(entries[iptNameSize:], size)
		if err := getsockopt(fd, iptGetEntries, entries); err != nil {
			return nil, fmt.Errorf("read legacy table %s: %w", name, err)
		}
		out = append(out, parseLegacy(info, entries[iptNameSize+8:]))
	}
	return out, nil
}

// parseLegacy reads struct ipt_getinfo and the entries that belong to it.
func parseLegacy(info, entries []byte) legacyTable {
	order := binary.NativeEndian
	name, _, _ := bytes.Cut(info[:iptNameSize], []byte{0})
	hooks := order.Uint32(info[iptNameSize:])
	underflow := info[iptNameSize+4+5*4:]
	t := legacyTable{name: string(name)}
	// Every hook has its policy as an entry, and the table ends with one that means error; user chains add two each,
	// which count as rules: somebody made them.
	t.rules = max(0, int(order.Uint32(info[iptInfoSize-8:]))-bits.OnesCount32(hooks)-1)
	if hooks&(1<<iptForward) == 0 {
		return t
	}
	policy := int64(order.Uint32(underflow[4*iptForward:]))
	if policy+iptTargetAt+2 > int64(len(entries)) {
		return t
	}
	verdict := policy + int64(order.Uint16(entries[policy+iptTargetAt:])) + iptVerdictAt
	if verdict+4 <= int64(len(entries)) {
		t.dropForward = int32(order.Uint32(entries[verdict:])) == iptDrop
	}
	return t
}

func getsockopt(fd, option int, b []byte) error {
	size := uint32(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_IP, uintptr(option),
		uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
