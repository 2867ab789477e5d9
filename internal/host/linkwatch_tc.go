package host

import (
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// lostQueue is the link that lost a part of a queue that is ours, of a redirection or of a fence; 0 for all other messages.
func lostQueue(kind uint16, m []byte) int {
	h, _, _, err := parseTC(m)
	if err != nil {
		return 0
	}
	ours := func(handle uint32) bool { return handle>>16 == BucketHandle || handle>>16 == TreeHandle }
	switch {
	case kind == unix.RTM_DELQDISC && (ours(h.handle) || ours(h.parent) || h.handle>>16 == IngressHandle),
		kind == unix.RTM_DELTCLASS && ours(h.handle),
		kind == unix.RTM_DELTFILTER && (ours(h.parent) || h.parent == netlink.HANDLE_MIN_INGRESS || h.parent == netlink.HANDLE_MIN_EGRESS):
		return h.index
	}
	return 0
}
