package doctor

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
	"taproom/internal/network/firewall/choice"
)

// checkNFT puts the rules of a network into a namespace that is thrown away.
func checkNFT(ctx context.Context, e Env) []Finding {
	kernel := Finding{Name: "nftables", Status: OK, Evidence: "the rules of a NAT network were accepted in a throwaway namespace"}
	e.Kernel.Step("doctor try nftables")
	err := choice.TryNFTables(ctx)
	var refused *nft.Error
	switch {
	case errors.As(err, &refused):
		kernel.Status, kernel.Evidence = Problem, err.Error()
		kernel.Remedy = "the kernel needs CONFIG_NF_TABLES, NF_TABLES_IPV4, NFT_CT, NFT_REJECT, NFT_MASQ and NF_NAT; networks with forward mode nat cannot start without, unless iptables works"
	case errors.Is(err, unix.EPROTONOSUPPORT):
		kernel.Status, kernel.Evidence = Problem, err.Error()
		kernel.Remedy = "the kernel needs CONFIG_NETFILTER_NETLINK and CONFIG_NF_TABLES, or iptables must work"
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
