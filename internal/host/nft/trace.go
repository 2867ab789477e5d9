package nft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Numbers of the kernel's nf_tables.h that x/sys lacks.
const (
	tableOwned  = 0x2 // NFT_TABLE_F_OWNER
	metaNFTrace = 12  // NFT_META_NFTRACE
	hookDevice  = 3   // NFTA_HOOK_DEV

	traceRule   = 3 // NFT_TRACETYPE_RULE
	tracePolicy = 1 // NFT_TRACETYPE_POLICY
)

// Attributes of a trace message.
const (
	traceTable    = 1
	traceChain    = 2
	traceHandle   = 3
	traceType     = 4
	traceVerdict  = 5
	traceNumber   = 6
	traceNetwork  = 8
	traceNFProto  = 15
	tracePolicyIs = 16
)

// Tracer makes the kernel tell which rules the packets that come in by one link meet. Its own rule is in a table that the
// socket owns, so the kernel removes it when the socket is closed, also by the end of the process.
type Tracer struct {
	kernel *host.Kernel
	sock   *netlink.Conn
	table  string
	begun  bool
	left   []netlink.Message // received and not yet looked at
	last   map[uint32][]byte // the header that a packet was shown with last, by the kernel's number for it
}

// Traced is one rule or policy that a packet met.
type Traced struct {
	Family  Family
	Table   string
	Chain   string
	Handle  uint64 // of the rule; 0 when it is none
	Policy  bool   // the chain's policy
	Verdict string // accept, drop, jump, goto, return or continue
	// Header is the network header of the packet: 40 bytes of IPv6, 20 of IPv4.
	Header []byte
	number uint32
}

// Trace begins to trace IPv4 and IPv6 packets that come in by a link. table is the name of a table that nobody has, in family netdev.
// The kernel needs tables with an owner (5.12) and rules on a device's ingress.
func Trace(ctx context.Context, k *host.Kernel, table, link string) (*Tracer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkNames(table); err != nil {
		return nil, err
	}
	k.Step("nft trace open")
	var sock *netlink.Conn
	var err error
	k.InNetNS(func() { sock, err = netlink.Dial(unix.NETLINK_NETFILTER, nil) })
	if err != nil {
		return nil, fmt.Errorf("open a netfilter socket: %w", err)
	}
	t := &Tracer{kernel: k, sock: sock, table: table, last: map[uint32][]byte{}}
	if err := t.begin(link); err != nil {
		return nil, errors.Join(fmt.Errorf("trace what comes in by %s: %w", link, err), t.Close())
	}
	return t, nil
}

// Close ends the tracing. The table is removed first: a program that is just being started elsewhere may have a copy of the
// socket for a moment longer.
func (t *Tracer) Close() error {
	t.kernel.Step("nft trace end")
	attrs, err := tableName(unix.NFTA_TABLE_NAME, t.table)
	if err == nil && t.begun {
		err = t.send(batchOf(part{unix.NFT_MSG_DELTABLE, netlink.Request, attrs}))
	}
	t.kernel.Step("nft trace close")
	return errors.Join(err, t.sock.Close())
}

// part is a message of a batch about family netdev.
type part struct {
	kind  uint8
	flags netlink.HeaderFlags
	attrs []byte
}

func batchOf(parts ...part) []byte {
	const first = 1
	b := appendMessage(nil, unix.NFNL_MSG_BATCH_BEGIN, netlink.Request, first, 0, unix.NFNL_SUBSYS_NFTABLES, nil)
	for i, p := range parts {
		b = appendMessage(b, unix.NFNL_SUBSYS_NFTABLES<<8|uint16(p.kind), p.flags, uint32(first+1+i), NetDev, 0, p.attrs)
	}
	return appendMessage(b, unix.NFNL_MSG_BATCH_END, netlink.Request, uint32(first+1+len(parts)), 0, unix.NFNL_SUBSYS_NFTABLES, nil)
}

func (t *Tracer) send(batch []byte) error {
	raw, err := t.sock.SyscallConn()
	if err != nil {
		return err
	}
	t.kernel.Sending(batch)
	var serr error
	err = raw.Control(func(fd uintptr) {
		serr = unix.Sendto(int(fd), batch, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	})
	return errors.Join(err, os.NewSyscallError("sendto", serr))
}

func (t *Tracer) begin(link string) error {
	_ = t.sock.SetReadBuffer(receiveBuffer) // the kernel's own size holds a few hundred
	exprs, err := traceExprs()
	if err != nil {
		return err
	}
	parts := []struct {
		kind uint8
		fill func(*netlink.AttributeEncoder) error
	}{
		{unix.NFT_MSG_NEWTABLE, func(ae *netlink.AttributeEncoder) error {
			ae.String(unix.NFTA_TABLE_NAME, t.table)
			ae.Uint32(unix.NFTA_TABLE_FLAGS, tableOwned)
			return nil
		}},
		{unix.NFT_MSG_NEWCHAIN, func(ae *netlink.AttributeEncoder) error {
			ae.String(unix.NFTA_CHAIN_TABLE, t.table)
			ae.String(unix.NFTA_CHAIN_NAME, "ingress")
			ae.String(unix.NFTA_CHAIN_TYPE, "filter")
			ae.Nested(unix.NFTA_CHAIN_HOOK, func(h *netlink.AttributeEncoder) error {
				h.Uint32(unix.NFTA_HOOK_HOOKNUM, 0)
				h.Uint32(unix.NFTA_HOOK_PRIORITY, uint32(1<<32-500))
				h.String(hookDevice, link)
				return nil
			})
			return nil
		}},
		{unix.NFT_MSG_NEWRULE, func(ae *netlink.AttributeEncoder) error {
			ae.String(unix.NFTA_RULE_TABLE, t.table)
			ae.String(unix.NFTA_RULE_CHAIN, "ingress")
			ae.Nested(unix.NFTA_RULE_EXPRESSIONS, func(list *netlink.AttributeEncoder) error {
				for _, b := range exprs {
					list.Bytes(unix.NLA_F_NESTED|unix.NFTA_LIST_ELEM, b)
				}
				return nil
			})
			return nil
		}},
	}
	var all []part
	for _, p := range parts {
		attrs, err := attributes(p.fill)
		if err != nil {
			return err
		}
		flags := netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl
		if p.kind == unix.NFT_MSG_NEWRULE {
			flags = netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Append
		}
		all = append(all, part{p.kind, flags, attrs})
	}
	return t.commit(batchOf(all...), len(all))
}

// commit sends the batch and reads its acknowledgements; then it joins the group of traces.
func (t *Tracer) commit(batch []byte, acks int) error {
	t.kernel.Step("nft trace begin")
	if err := t.send(batch); err != nil {
		return err
	}
	raw, err := t.sock.SyscallConn()
	if err != nil {
		return err
	}
	var rerr error
	if err := raw.Control(func(fd uintptr) { rerr = readAcks(int(fd), acks) }); err != nil {
		return err
	}
	if rerr != nil {
		return rerr
	}
	t.begun = true
	return t.sock.JoinGroup(unix.NFNLGRP_NFTRACE)
}

// readAcks reads what the kernel said to a batch, all of which is queued already.
func readAcks(fd, acks int) error {
	buf := make([]byte, 1<<14)
	for n := 0; n < acks; {
		size, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		for m, err := range packets(buf[:size]) {
			if err != nil {
				return err
			}
			a, ok := parseAnswer(m)
			if ok && a.errno != 0 {
				return a.errno
			}
			if ok {
				n++
			}
		}
	}
	return nil
}

// traceExprs is the rule: a packet that comes in by the link is traced from here on.
func traceExprs() ([][]byte, error) {
	one := uint32(unix.NFT_REG32_00)
	var out [][]byte
	for _, x := range []expr.Any{
		&expr.Immediate{Register: one, Data: []byte{1}},
		&expr.Meta{Key: metaNFTrace, SourceRegister: true, Register: one},
	} {
		b, err := expr.Marshal(byte(NetDev), x)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// Next waits for what a packet meets next, whichever it is, as long as ctx lasts.
func (t *Tracer) Next(ctx context.Context) (Traced, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Hour)
	}
	if err := t.sock.SetReadDeadline(deadline); err != nil {
		return Traced{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = t.sock.SetReadDeadline(time.Unix(1, 0)) })()
	for {
		for len(t.left) > 0 {
			m := t.left[0]
			t.left = t.left[1:]
			if m.Header.Type == netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_TRACE) && len(m.Data) >= genmsgSize {
				x, err := parseTraced(Family(m.Data[0]), m.Data[genmsgSize:])
				return t.known(x), err
			}
		}
		var err error
		if t.left, err = t.sock.Receive(); err != nil {
			if cerr := ctx.Err(); cerr != nil {
				err = cerr
			}
			return Traced{}, fmt.Errorf("read the trace: %w", err)
		}
	}
}

// known gives what a packet met the header of that packet: the kernel sends it with the first at each hook alone. A number
// is used again once its packet is gone, and then comes with a header again.
func (t *Tracer) known(x Traced) Traced {
	if len(x.Header) > 0 {
		t.last[x.number] = x.Header
	}
	x.Header = t.last[x.number]
	return x
}

// Began reports whether it is the tracer's own rule: the packet has just come in.
func (t *Tracer) Began(x Traced) bool { return x.Family == NetDev && x.Table == t.table }

func parseTraced(f Family, b []byte) (Traced, error) {
	s := readAttrs(b)
	x := Traced{Family: f, Table: s.string(traceTable), Chain: s.string(traceChain)}
	x.number = s.uint32(traceNumber)
	verdict := readAttrs(s.bytes(traceVerdict))
	kind := s.uint32(traceType)
	code := int32(verdict.uint32(unix.NFTA_VERDICT_CODE))
	if kind == tracePolicy {
		x.Policy = true
		code = int32(s.uint32(tracePolicyIs))
	}
	if kind == traceRule && s.has(traceHandle) {
		x.Handle = s.uint64(traceHandle)
	}
	x.Verdict = "continue"
	for name, k := range verdicts() {
		if int32(k) == code {
			x.Verdict = name
		}
	}
	x.Header = append([]byte(nil), s.bytes(traceNetwork)...)
	return x, errors.Join(s.err, verdict.err)
}

// MatchesID reports whether the traced packet carries a number: the identification of IPv4, the flow label of IPv6.
func (x Traced) MatchesID(id uint16) bool {
	h := x.Header
	switch {
	case len(h) >= 6 && h[0]>>4 == 4:
		return binary.BigEndian.Uint16(h[4:]) == id
	case len(h) >= 4 && h[0]>>4 == 6:
		return binary.BigEndian.Uint16(h[2:]) == id
	}
	return false
}
