package doctor

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/host/probe"
	"taproom/internal/network/firewall"
)

// checkNFT puts the rules of a network into a namespace that is thrown away: they need sets, connection tracking, reject
// and masquerading, so this says more than asking for a version.
func checkNFT(ctx context.Context, e Env) []Finding {
	kernel := Finding{Name: "nftables", Status: OK, Evidence: "the rules of a NAT network were accepted in a throwaway namespace"}
	e.Kernel.Step("doctor try nftables")
	err := probe.Throwaway(func() error { return tryFirewall(ctx) })
	var refused *nft.Error
	switch {
	case errors.As(err, &refused):
		kernel.Status, kernel.Evidence = Problem, err.Error()
		kernel.Remedy = "the kernel needs CONFIG_NF_TABLES, NF_TABLES_IPV4, NFT_CT, NFT_REJECT, NFT_MASQ and NF_NAT; networks with forward mode nat cannot start without"
	case errors.Is(err, unix.EPROTONOSUPPORT):
		kernel.Status, kernel.Evidence = Problem, err.Error()
		kernel.Remedy = "the kernel needs CONFIG_NETFILTER_NETLINK and CONFIG_NF_TABLES"
	case err != nil:
		kernel.Status, kernel.Evidence = Unknown, err.Error()
	}
	program := Finding{Name: "nft", Status: OK}
	if p, ok := e.has("nft"); ok {
		program.Evidence = p
	} else {
		program.Status, program.Evidence = Warning, "the program nft is not in PATH"
		program.Remedy = "apt-get install nftables; taproom does without it, but the commands that --dry-run prints need it"
	}
	return []Finding{kernel, program}
}

func tryFirewall(ctx context.Context) (err error) {
	k := host.New(host.Options{})
	defer k.Close()
	c, err := nft.Open(k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	f := firewall.New(c, firewall.DefaultTable)
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
