package engine

import (
	"context"
	"fmt"

	"taproom/internal/api/virterr"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/nftables"
)

// filterRules reports why the rules of network filters cannot be kept.
func (e *Engine) filterRules() error {
	switch {
	case e.cfg.Session != nil:
		return needsRoot("a network filter")
	case e.nft == nil:
		return virterr.New(virterr.ConfigUnsupported, "network filters need nf_tables, which this kernel has not (CONFIG_NF_TABLES)")
	}
	return nil
}

// openFilterRules opens what keeps the rules of network filters, and follows what others do to them.
func (e *Engine) openFilterRules(ctx context.Context) (nwfilter.Backend, error) {
	if err := e.filterRules(); err != nil {
		return nil, err
	}
	b, err := nftables.Open(ctx, e.nft, e.k, e.cfg.Identity.Table)
	if err != nil {
		return nil, fmt.Errorf("open the rules of network filters: %w", err)
	}
	e.followFilterRules(b)
	return b, nil
}
