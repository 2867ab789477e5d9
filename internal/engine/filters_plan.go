package engine

import (
	"context"

	"taproom/internal/api/own"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/nftables"
)

// planFilters returns the commands that filter the links of a record before they are made.
func (e *Engine) planFilters(ctx context.Context, r record) ([]own.Step, error) {
	var ports []nwfilter.Port
	for _, b := range bindingsOf(r) {
		p, err := e.nwfilters.Compiled(b)
		if err != nil {
			return nil, err
		}
		ports = append(ports, p)
	}
	if len(ports) == 0 {
		return nil, nil
	}
	if err := e.filterRules(); err != nil {
		return nil, err
	}
	b, err := nftables.Open(ctx, e.nft, e.k, e.cfg.Identity.Table)
	if err != nil {
		return nil, err
	}
	texts, err := b.Plan(ctx, ports, nil)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		texts[i] = "nft -f - <<'EOF'\n" + text + "EOF"
	}
	return steps("domain "+r.Name, texts), nil
}
