package nft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// dumpAttempts bounds how often a dump starts again because somebody changed nf_tables meanwhile.
const dumpAttempts = 8

// Dump reads a table and everything in it, from one generation.
func (c *Conn) Dump(ctx context.Context, f Family, table string) (*Listing, error) {
	return c.list(ctx, f, table, true)
}

// Layout reads a table without the elements of its sets.
func (c *Conn) Layout(ctx context.Context, f Family, table string) (*Listing, error) {
	return c.list(ctx, f, table, false)
}

func (c *Conn) list(ctx context.Context, f Family, table string, elements bool) (*Listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var l *Listing
	gen, err := c.stable(ctx, func() (err error) {
		l, err = c.readTable(f, table, elements)
		return err
	})
	if errors.Is(err, unix.ENOENT) {
		err = ErrNoTable
	}
	if err != nil {
		return nil, fmt.Errorf("nft list table %s %s: %w", f, table, err)
	}
	l.Generation = gen
	return l, nil
}

// stable runs read until nf_tables had the same generation before and after it.
func (c *Conn) stable(ctx context.Context, read func() error) (uint32, error) {
	for range dumpAttempts {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		before, err := c.generation()
		if err != nil {
			return 0, err
		}
		rerr := read()
		after, err := c.generation()
		if err != nil {
			return 0, err
		}
		if before == after && !errors.Is(rerr, ErrInterrupted) {
			return before, rerr
		}
	}
	return 0, ErrInterrupted
}

func (c *Conn) generation() (uint32, error) {
	var gen uint32
	err := c.ask(unix.NFT_MSG_GETGEN, 0, 0, nil, func(b []byte) (err error) {
		gen, err = parseGeneration(b)
		return err
	})
	return gen, err
}

func tableName(attribute uint16, name string) ([]byte, error) {
	return attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(attribute, name)
		return nil
	})
}

func (c *Conn) readTable(f Family, table string, elements bool) (*Listing, error) {
	name, err := tableName(unix.NFTA_TABLE_NAME, table) // the same number in chains, rules and sets
	if err != nil {
		return nil, err
	}
	l := &Listing{}
	err = c.ask(unix.NFT_MSG_GETTABLE, 0, f, name, func(b []byte) (err error) {
		l.Table, err = parseTable(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.ask(unix.NFT_MSG_GETSET, netlink.Dump, f, name, func(b []byte) error {
		s, err := parseSet(b)
		if s.Table == table {
			l.Sets = append(l.Sets, s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if l.Chains, err = c.chains(f, func(x Chain) bool { return x.Table == table }); err != nil {
		return nil, err
	}
	if l.Rules, err = c.rules(f, name, table); err != nil {
		return nil, err
	}
	if !elements {
		return l, nil
	}
	l.Elements = map[string][]string{}
	for _, s := range l.Sets {
		t, err := s.elementType()
		if err != nil || s.Flags != 0 || s.Dynamic {
			continue // outside the subset, so not ours; or made by packets
		}
		if l.Elements[s.Name], err = c.elements(s, t); err != nil {
			return nil, err
		}
	}
	l.sortElements()
	return l, nil
}

func (c *Conn) chains(f Family, keep func(Chain) bool) ([]Chain, error) {
	var out []Chain
	err := c.ask(unix.NFT_MSG_GETCHAIN, netlink.Dump, f, nil, func(b []byte) error {
		x, err := parseChain(b)
		if err == nil && keep(x) {
			out = append(out, x)
		}
		return err
	})
	return out, err
}

func (c *Conn) rules(f Family, name []byte, table string) ([]Rule, error) {
	var out []Rule
	err := c.ask(unix.NFT_MSG_GETRULE, netlink.Dump, f, name, func(b []byte) error {
		r, err := parseRule(b)
		if r.Table == table && r.Family == f {
			out = append(out, r)
		}
		return err
	})
	return out, err
}

func (c *Conn) elements(s Set, t elementType) ([]string, error) {
	attrs, err := attributes(func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.NFTA_SET_ELEM_LIST_TABLE, s.Table)
		ae.String(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []string
	err = c.ask(unix.NFT_MSG_GETSETELEM, netlink.Dump, s.Family, attrs, func(b []byte) error {
		keys, err := parseElements(b, t)
		out = append(out, keys...)
		return err
	})
	if err != nil {
		return nil, err
	}
	sort.Strings(out)
	return out, once(out)
}

// once holds that no key of a dump is there twice. While the kernel resizes a set's table, which is no change and moves no
// generation, a dump in several parts goes on at the same place of another order: it shows some keys twice, and as many
// not at all (6.18, right after ten thousand keys were added).
func once(sorted []string) error {
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return ErrInterrupted
		}
	}
	return nil
}

// BaseChains reads the chains of every family that the kernel calls by itself, in every table. It is for those who want
// to know what else decides over a packet.
func (c *Conn) BaseChains(ctx context.Context) ([]Chain, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Chain
	_, err := c.stable(ctx, func() (err error) {
		out, err = c.chains(0, func(x Chain) bool { return x.Hook != "" })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("nft list chains: %w", err)
	}
	return out, nil
}

// Generation implements Backend. It is the cheapest question whether nf_tables works at all.
func (c *Conn) Generation(ctx context.Context) (uint32, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gen, err := c.generation()
	if err != nil {
		return 0, fmt.Errorf("nft: read the generation: %w", err)
	}
	return gen, nil
}

// ask sends one request and hands each answer's body to visit. A dump that the kernel had to interrupt ends with
// ErrInterrupted after all answers were read.
func (c *Conn) ask(kind uint8, flags netlink.HeaderFlags, f Family, attrs []byte, visit func([]byte) error) error {
	seq := c.seq
	c.seq++
	c.drain()
	c.kernel.Step("nft dump")
	request := appendMessage(nil, unix.NFNL_SUBSYS_NFTABLES<<8|uint16(kind), netlink.Request|flags, seq, f, 0, attrs)
	if err := c.send(request); err != nil {
		return err
	}
	interrupted := false
	for {
		p, err := c.receive()
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		for m, err := range packets(p) {
			switch {
			case err != nil:
				return err
			case m.seq != seq:
				continue
			case m.flags&unix.NLM_F_DUMP_INTR != 0:
				interrupted = true
			}
			if m.kind == unix.NLMSG_DONE {
				return done(m, interrupted)
			}
			if a, ok := parseAnswer(m); ok {
				if a.errno == 0 {
					return nil
				}
				return a.errno
			}
			if err := visit(m.body); err != nil {
				return err
			}
			if flags == 0 {
				return nil
			}
		}
	}
}

// done reads the end of a dump, which carries an errno when the kernel gave up half-way.
func done(m packet, interrupted bool) error {
	if len(m.body) >= 4 {
		if n := int32(binary.NativeEndian.Uint32(m.body)); n < 0 {
			return unix.Errno(-n)
		}
	}
	if interrupted {
		return ErrInterrupted
	}
	return nil
}
