package netwhy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taproom/internal/host/nft"
	"taproom/internal/network/why"
)

// tables reads every table of nf_tables that packets of a family pass, whoever made it, but for one.
func (l *Looker) tables(ctx context.Context, v6 bool, without string) ([]why.Table, error) {
	if l.NFT == nil {
		return nil, nil
	}
	chains, err := l.NFT.BaseChains(ctx)
	if err != nil {
		return nil, err
	}
	type key struct {
		family nft.Family
		name   string
	}
	var order []key
	for _, c := range chains {
		k := key{c.Family, c.Table}
		if slices.Contains(order, k) || c.Table == without || c.Family == nft.ARP || c.Family == nft.NetDev || c.Family == nft.IPv4 && v6 || c.Family == nft.IPv6 && !v6 {
			continue
		}
		order = append(order, k)
	}
	var out []why.Table
	for _, k := range order {
		listing, err := l.NFT.Layout(ctx, k.family, k.name)
		if errors.Is(err, nft.ErrNoTable) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, why.FromNFT(listing))
	}
	return out, nil
}

// texts adds what only iptables' own programs can say: the words of its rules in nf_tables, and the tables of the old
// interface. A host without the programs has neither, or cannot be told more.
func (l *Looker) texts(ctx context.Context, f *why.Facts) error {
	family, program := "ip", "iptables"
	if f.To.Is6() {
		family, program = "ip6", "ip6tables"
	}
	if slices.ContainsFunc(f.Tables, func(t why.Table) bool { return t.Tool == why.ToolNew }) {
		if text, err := l.Kernel.Output(ctx, program+"-nft-save"); err == nil {
			saved, err := why.ParseSave(why.ToolNew, family, text)
			if err != nil {
				return err
			}
			f.Tables = why.WithTexts(f.Tables, saved)
		}
	}
	names, err := l.Kernel.LegacyTables(family)
	if err != nil || len(names) == 0 {
		return err
	}
	text, err := l.Kernel.Output(ctx, program+"-legacy-save", "-c")
	if err != nil {
		return fmt.Errorf("there are tables of the old interface (%v), and they cannot be read: %w; install iptables", names, err)
	}
	legacy, err := why.ParseSave(why.ToolLegacy, family, text)
	f.Tables = append(f.Tables, legacy...)
	return err
}
