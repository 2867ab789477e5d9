package host

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// BoundSocket is a socket of the host that takes what comes in at a port.
type BoundSocket struct {
	At  netip.AddrPort
	UID uint32 // of who made it
}

// BoundSockets lists the sockets, udp or tcp, that take what comes in: those of TCP that listen, and those of UDP that are not
// connected. It reads /proc/net (proc_net(5)).
func (k *Kernel) BoundSockets(proto string) ([]BoundSocket, error) {
	k.Step("sockets list")
	var all []BoundSocket
	for _, family := range []string{"", "6"} {
		var b []byte
		var err error
		k.InNetNS(func() { b, err = os.ReadFile("/proc/thread-self/net/" + proto + family) })
		if os.IsNotExist(err) && family == "6" { // a kernel without IPv6
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the sockets of %s: %w", proto, err)
		}
		all = append(all, boundSockets(string(b))...)
	}
	return all, nil
}

// boundSockets reads a table of /proc/net.
func boundSockets(table string) []BoundSocket {
	var all []BoundSocket
	s := bufio.NewScanner(strings.NewReader(table))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 10 || f[3] != "07" && f[3] != "0A" { // unconnected UDP, listening TCP
			continue
		}
		a, ok := parseProcAddr(f[1])
		uid, err := strconv.ParseUint(f[7], 10, 32)
		if ok && err == nil && a.Port() != 0 {
			all = append(all, BoundSocket{At: a, UID: uint32(uid)})
		}
	}
	return all
}
