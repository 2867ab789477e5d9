package nft

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Change is one transaction that somebody made. A set that the packets themselves fill tells nothing.
type Change struct {
	Tables []Table // that it touched, each once: Family and Name alone
	Port   uint32  // of the netlink socket that it came from
	PID    int     // of the thread that made it; 0 where TellsPIDs is false
	Name   string  // of that thread, which is its program's unless it calls itself otherwise
}

// Touches reports whether a table is among those that it touched.
func (c Change) Touches(f Family, table string) bool {
	return slices.Contains(c.Tables, Table{Family: f, Name: table})
}

// Who names whoever made it, for people; "" when that was not told.
func (c Change) Who() string {
	if c.PID == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (process %d)", c.Name, c.PID)
}

// Watch tells the changes of nf_tables in a network namespace, from when it was made.
type Watch struct {
	listener *host.Multicast
	own      uint32
	pids     bool   // they are the numbers that processes have here
	under    Change // way, of which the end has not been told yet
	changes  []Change
}

// Watch begins to watch what others than this connection change. Run, which ends it, must be called.
func (c *Conn) Watch() (*Watch, error) {
	m, err := c.kernel.Listen("nft", unix.NETLINK_NETFILTER, unix.NFNLGRP_NFTABLES)
	if err != nil {
		return nil, err
	}
	return &Watch{listener: m, own: c.sock.PID(), pids: TellsPIDs()}, nil
}

// initialPIDs is the number of the first namespace of processes (PROC_PID_INIT_INO, include/linux/proc_ns.h), whose numbers
// nf_tables reports (net/netfilter/nf_tables_api.c, NFTA_GEN_PROC_PID).
const initialPIDs = "pid:[4026531836]"

// TellsPIDs reports whether nf_tables numbers processes as this namespace of processes does: not in a container, where the
// number may belong to another process.
func TellsPIDs() bool {
	ns, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && ns == initialPIDs
}

// Run calls each with what changed, in order, until ctx is done; what was told while each ran comes together. With missed
// more changed than could be told, and only looking says what.
func (w *Watch) Run(ctx context.Context, each func(changes []Change, missed bool)) error {
	return w.listener.Run(ctx, w.take, func(missed bool) {
		each(w.changes, missed)
		w.changes = nil
	})
}

// take reads a datagram. The kernel tells each thing that a transaction changed, and at its end the new generation.
func (w *Watch) take(b []byte) (changes int, ok bool) {
	before := len(w.changes)
	for m, err := range packets(b) {
		if err == nil {
			err = w.message(m)
		}
		if err != nil {
			w.under = Change{}
			return len(w.changes) - before, false
		}
	}
	return len(w.changes) - before, true
}

func (w *Watch) message(m packet) error {
	if m.kind>>8 != unix.NFNL_SUBSYS_NFTABLES || m.port == w.own {
		return nil
	}
	t, end, err := touched(m)
	switch {
	case err != nil:
		return err
	case end == nil:
		if !slices.Contains(w.under.Tables, t) {
			w.under.Tables = append(w.under.Tables, t)
		}
		return nil
	}
	c := w.under
	w.under = Change{}
	c.Port, c.Name = m.port, printable(end.string(unix.NFTA_GEN_PROC_NAME))
	if w.pids {
		c.PID = int(end.uint32(unix.NFTA_GEN_PROC_PID))
	}
	w.changes = append(w.changes, c)
	return end.err
}

// printable is a name that a process gave itself, without what could pretend to be something else in a log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
