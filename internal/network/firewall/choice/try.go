package choice

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/host/probe"
	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/iptables"
)

// TryNFTables puts the rules of a NAT network into a namespace that is thrown away: they need sets, connection tracking, reject
// and masquerading, so this says more than asking for a version.
func TryNFTables(ctx context.Context) error {
	return probe.Throwaway(func() (err error) {
		k := host.New(host.Options{})
		defer k.Close()
		c, err := nft.Open(k)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		return try(ctx, firewall.New(c, firewall.DefaultTable))
	})
}

// TryIPTables does the same with the host's iptables, and says which of the kernel's interfaces that writes.
func TryIPTables(ctx context.Context) (v xtables.Variant, err error) {
	err = probe.Throwaway(func() error {
		k := host.New(host.Options{})
		defer k.Close()
		f, err := iptables.New(xtables.New(k, xtables.HostChoice), firewall.DefaultTable)
		if err != nil {
			return err
		}
		if err := try(ctx, f); err != nil {
			return err
		}
		legacy, err := xtables.LegacyInUse(k)
		if v = xtables.NFT; legacy {
			v = xtables.Legacy
		}
		return err
	})
	return v, err
}

func try(ctx context.Context, f firewall.Backend) error {
	want := []firewall.Element{
		{Set: "bridges", Key: "probe0"},
		{Set: "nat24", Key: "192.0.2.0"},
		{Set: "net24", Key: "probe0 . 192.0.2.0"},
		{Set: "same", Key: "probe0 . probe0"},
	}
	if err := f.Apply(ctx, want, nil); err != nil {
		return err
	}
	got, err := f.Observe(ctx)
	if err == nil && len(got) != len(want) {
		err = fmt.Errorf("%d of %d elements were read back", len(got), len(want))
	}
	return err
}
