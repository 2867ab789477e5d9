package nftables

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/host/probe"
	"taproom/internal/network/nwfilter"
)

// Abilities are the parts of the language that depend on the kernel.
type Abilities struct {
	Conntrack bool // bridges track connections; without, states are read through br_netfilter
	Reject    bool // a reject is answered; without, it drops
	Limits    bool // connlimit-above
}

// Try filters a NIC by clean-traffic in a throwaway namespace and returns the abilities of the kernel.
func Try(ctx context.Context) (a Abilities, err error) {
	set, err := nwfilter.ShippedSet()
	if err != nil {
		return a, err
	}
	program, values, err := nwfilter.Compile(set, "clean-traffic", nwfilter.Params{"MAC": {"52:54:00:00:00:01"}, "IP": {"192.0.2.1"}})
	if err != nil {
		return a, err
	}
	err = probe.Throwaway(func() (err error) {
		k := host.New(host.Options{})
		defer k.Close()
		c, err := nft.Open(k)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		b, err := Open(ctx, c, k, "probe")
		if err != nil {
			return err
		}
		a = Abilities{b.can.conntrack, b.can.reject, b.can.limits}
		if err := b.Apply(ctx, []nwfilter.Port{{Name: "probe0", Program: program, Values: values}}, nil); err != nil {
			return err
		}
		got, err := b.Observe(ctx)
		if err == nil && len(got) != 1 {
			err = fmt.Errorf("the filter of 1 NIC was written and that of %d read back", len(got))
		}
		return err
	})
	return a, err
}

// Filtered returns the links that the tables of that name filter, and the links whose filter asks for states of connections that
// br_netfilter has to provide. Nothing is changed.
func Filtered(ctx context.Context, conn nft.Backend, table string) (ports, tracked []string, err error) {
	l, err := conn.Dump(ctx, nft.Bridge, table)
	if errors.Is(err, nft.ErrNoTable) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return l.Elements[setPorts], l.Elements[setTracked], nil
}
