package host

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PortHolder is who has a port of the host.
type PortHolder struct {
	Name     string // of its program; empty: nobody who can be seen
	PID      int
	At       netip.AddrPort // what it is bound to
	Wildcard bool           // which is all addresses
}

// String says it for people.
func (h PortHolder) String() string {
	if h.Name == "" {
		return fmt.Sprintf("a process that cannot be seen, at %s", h.At)
	}
	return fmt.Sprintf("%s (process %d) at %s", h.Name, h.PID, h.At)
}

// PortHolder finds who is bound to a port, udp or tcp, in a way that keeps an address from being bound to as well. It
// reads /proc/net (proc_net(5)) and all processes, so it is for explaining an error that has happened.
func (k *Kernel) PortHolder(proto string, at netip.AddrPort) (PortHolder, error) {
	k.Step("port holder")
	var found PortHolder
	var inode string
	for _, family := range []string{"", "6"} {
		var b []byte
		var err error
		k.InNetNS(func() { b, err = os.ReadFile("/proc/thread-self/net/" + proto + family) })
		if err != nil {
			return found, fmt.Errorf("read who has %s %s: %w", proto, at, err)
		}
		if a, i, ok := boundAt(string(b), at); ok {
			found.At, inode, found.Wildcard = a, i, a.Addr().IsUnspecified()
			break
		}
	}
	if inode == "" {
		return found, fmt.Errorf("nobody is bound to %s %s any more; try again", proto, at)
	}
	found.PID, found.Name = processOfSocket(inode)
	return found, nil
}

// boundAt finds a socket that is bound to an address, or to all, in a table of /proc/net.
func boundAt(table string, at netip.AddrPort) (netip.AddrPort, string, bool) {
	s := bufio.NewScanner(strings.NewReader(table))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 10 {
			continue
		}
		a, ok := parseProcAddr(f[1])
		if !ok || a.Port() != at.Port() || f[3] != "07" && f[3] != "0A" { // unconnected UDP, listening TCP
			continue
		}
		if a.Addr() == at.Addr() || a.Addr().IsUnspecified() {
			return a, f[9], true
		}
	}
	return netip.AddrPort{}, "", false
}

// parseProcAddr reads 0100007F:0035: words of four bytes in the machine's order, which is little-endian here, and a port.
func parseProcAddr(s string) (netip.AddrPort, bool) {
	addr, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(addr)
	p, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(p)), ok
}

// processOfSocket finds a process that has a socket open.
func processOfSocket(inode string) (int, string) {
	want := "socket:[" + inode + "]"
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, ""
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err != nil || to != want {
			continue
		}
		dir := filepath.Dir(filepath.Dir(fd))
		pid, err := strconv.Atoi(filepath.Base(dir))
		name, nerr := os.ReadFile(filepath.Join(dir, "comm"))
		if err == nil && nerr == nil {
			return pid, strings.TrimSpace(string(name))
		}
	}
	return 0, ""
}
