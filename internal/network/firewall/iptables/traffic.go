package iptables

import (
	"context"
	"fmt"
	"strings"

	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
)

var _ firewall.Meter = (*Firewall)(nil)

// Traffic implements firewall.Meter: each network's rules count by themselves.
func (f *Firewall) Traffic(ctx context.Context) (map[string]firewall.Traffic, error) {
	out := map[string]firewall.Traffic{}
	for _, v6 := range families {
		text, err := f.programs.Counted(ctx, v6)
		if err != nil {
			return nil, fmt.Errorf("read the counters of networks: %w", err)
		}
		layout{f.table, v6}.count(text, out)
	}
	return out, nil
}

// count adds what the rules of elements have counted.
func (l layout) count(text string, to map[string]firewall.Traffic) {
	for line := range strings.Lines(text) {
		counters, rule, ok := strings.Cut(strings.TrimSpace(line), " -A ")
		if !ok {
			continue
		}
		chain, rule, _ := strings.Cut(rule, " ")
		name, ours := l.own(chain)
		if !ours || name != in && name != out {
			continue
		}
		m, ok := l.member(name, xtables.ParseRule(rule))
		if !ok {
			continue
		}
		var packets, bytes uint64
		if _, err := fmt.Sscanf(counters, "[%d:%d]", &packets, &bytes); err != nil || packets == 0 {
			continue
		}
		sum := to[m.Bridge]
		sum.Count(name == out, packets, bytes)
		to[m.Bridge] = sum
	}
}
