package nft

import (
	"errors"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// How much is kept of what others change until somebody asks: by the kernel, in bytes, and by us, in changes. Of what was more
// nothing is known.
const (
	newsBacklog = 1 << 20
	newsKept    = 1024
)

// news is what changed in nf_tables, as the kernel tells it.
type news struct {
	listener *host.Multicast
	since    uint32             // the changes after this generation are told, all of each
	under    []Table            // touched by the change of which the end has not been told yet
	told     map[uint32][]Table // what each change touched, by the generation that it made
}

// Untouched implements Backend. The kernel is asked to tell with the first call, which is false.
func (c *Conn) Untouched(from, to uint32, tables ...Table) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news == nil {
		n, err := c.follow()
		if err == nil {
			c.news = n
		}
		return false
	}
	n := c.news
	missed, err := n.listener.Told(n.take)
	if err == nil && missed {
		err = n.begin(c)
	}
	if err != nil {
		c.news = nil
		_ = n.listener.Close() // it was only listened to
		return false
	}
	maps.DeleteFunc(n.told, func(g uint32, _ []Table) bool { return to-g > newsKept && to > g })
	for g := from; g != to; {
		g++
		touched, known := n.told[g]
		if !known || slices.ContainsFunc(tables, func(t Table) bool { return slices.Contains(touched, Table{Family: t.Family, Name: t.Name}) }) {
			return false
		}
	}
	return true
}

// follow begins to be told.
func (c *Conn) follow() (*news, error) {
	m, err := c.kernel.Listen("nft", unix.NETLINK_NETFILTER, unix.NFNLGRP_NFTABLES)
	if err != nil {
		return nil, err
	}
	n := &news{listener: m}
	if err = m.Bound(newsBacklog); err == nil {
		err = n.begin(c)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return n, nil
}

// begin forgets what was told. Of a change that is being told only the rest may come, so what counts begins with the generation
// after this one: the kernel counts a change before it tells of it (net/netfilter/nf_tables_api.c, nf_tables_commit).
func (n *news) begin(c *Conn) (err error) {
	n.under, n.told = nil, map[uint32][]Table{}
	n.since, err = c.generation()
	return err
}

// take reads a datagram.
func (n *news) take(b []byte) (things int, ok bool) {
	for m, err := range packets(b) {
		if err == nil {
			err = n.message(m)
		}
		if err != nil {
			return 0, false
		}
	}
	return 1, true
}

func (n *news) message(m packet) error {
	t, end, err := touched(m)
	switch {
	case err != nil:
		return err
	case end == nil:
		if t.Name != "" && !slices.Contains(n.under, t) {
			n.under = append(n.under, t)
		}
		return nil
	}
	if g := end.uint32(unix.NFTA_GEN_ID); g > n.since {
		n.told[g] = n.under
	}
	n.under = nil
	return end.err
}

// touched reads what the kernel tells of one thing that a change touched: the table that it is in; or of the change's end: what
// is said of the generation that it made (NFTA_GEN_).
func touched(m packet) (t Table, end *attrSet, err error) {
	if m.kind>>8 != unix.NFNL_SUBSYS_NFTABLES {
		return Table{}, nil, nil
	}
	if len(m.body) < genmsgSize {
		return Table{}, nil, errMalformed
	}
	s := readAttrs(m.body[genmsgSize:])
	if m.kind&0xff == unix.NFT_MSG_NEWGEN {
		return Table{}, s, s.err
	}
	// A table's name has the same number in all that is in one.
	return Table{Family: Family(m.body[0]), Name: s.string(unix.NFTA_TABLE_NAME)}, nil, s.err
}

// Untouched implements Backend. It knows everything.
func (f *Fake) Untouched(from, to uint32, tables ...Table) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return to == f.gen && !slices.ContainsFunc(tables, func(t Table) bool { return f.touched[tableID{t.Family, t.Name}] > from })
}
