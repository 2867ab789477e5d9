package nftables

import (
	"context"
	"strconv"
	"strings"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// Counters implements nwfilter.Backend. Of a Rule it tells Filter, Index, Direction and Action; a rule that became several is
// one again. The rules of a Program that somebody damaged are counted as they are.
func (b *Backend) Counters(ctx context.Context) ([]nwfilter.Counter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, err := b.dump(ctx, nft.Bridge)
	if err != nil {
		return nil, b.failed("read the counters of network filters", err)
	}
	if l == nil {
		return nil, nil
	}
	var out []nwfilter.Counter
	for _, c := range l.Chains {
		_, rest, ok := strings.Cut(c.Name, "-")
		if !ok || c.Hook != "" {
			continue
		}
		d := nwfilter.Out
		if strings.HasPrefix(rest, nwfilter.In.String()) {
			d = nwfilter.In
		}
		rules := l.RulesOf(c.Name)
		key, title, _ := noted(c, b.can, rules)
		first := len(out)
		for _, r := range rules {
			x, ok := counted(r)
			if !ok {
				continue
			}
			x.Program, x.Chain, x.Rule.Direction = key, title, d
			if n := len(out); n > first && out[n-1].Rule.Filter == x.Rule.Filter && out[n-1].Rule.Index == x.Rule.Index {
				out[n-1].Packets += x.Packets
				out[n-1].Bytes += x.Bytes
				continue
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// counted reads a rule's counter, and which rule of which filter it is.
func counted(r nft.Rule) (x nwfilter.Counter, ok bool) {
	at := strings.LastIndex(r.Comment, " ")
	if at < 0 {
		return x, false
	}
	n, err := strconv.Atoi(r.Comment[at+1:])
	if err != nil {
		return x, false
	}
	x.Rule.Filter, x.Rule.Index = r.Comment[:at], n
	x.Rule.Action = nwfilter.Continue
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case nft.Counter:
			x.Packets, x.Bytes, ok = e.Packets, e.Bytes, true
		case nft.Reject:
			x.Rule.Action = nwfilter.Reject
		case nft.Verdict:
			x.Rule.Action = map[string]nwfilter.Action{
				"accept": nwfilter.Accept, "goto": nwfilter.Accept, "drop": nwfilter.Drop, "return": nwfilter.Return, "jump": nwfilter.Jump,
			}[e.Kind]
		}
	}
	return x, ok
}
