package nftables

import (
	"context"
	"fmt"
	"strings"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// limitSet is the prefix of the names of sets in which connections are counted.
const limitSet = "limit-"

// overLimit matches while the NIC has more connections than the rule says. Connections are counted for each port, whatever its addresses,
// so a guest cannot evade the limit by another address and the set has a member for each port at most.
func (r *renderer) overLimit(rule *nwfilter.Rule) (exprs, error) {
	if rule.ConnLimit == nil {
		return one(), nil
	}
	if !r.can.limits {
		return nil, fmt.Errorf("connlimit-above: filters are kept in nf_tables, and connections of a bridge's ports are not counted there: %w", &host.Missing{
			What: "connection tracking of bridges", Config: "CONFIG_NF_CONNTRACK_BRIDGE and CONFIG_NFT_CONNLIMIT",
		})
	}
	name := fmt.Sprintf("%s%s-%d", limitSet, r.out.id, len(r.out.sets))
	r.out.sets = append(r.out.sets, nft.Set{Family: nft.Bridge, Table: r.table, Name: name, Type: "ifname", Dynamic: true})
	port := nft.IIfName
	if rule.Direction == nwfilter.In {
		port = nft.OIfName
	}
	// The kernel drops a packet at ct count, whatever the rule does, when it has no connection (nft_connlimit_do_eval, 6.12).
	return one(nft.New|nft.Established|nft.Related, nft.OverLimit{Key: []nft.Term{{Field: port}}, Set: name, Count: *rule.ConnLimit}), nil
}

// tryLimits reports whether the kernel counts the connections of a bridge's ports.
func (b *Backend) tryLimits(ctx context.Context) (bool, error) {
	set := nft.Set{Family: nft.Bridge, Table: b.table + "-try", Name: limitSet, Type: "ifname", Dynamic: true}
	return b.try(ctx, []nft.Object{set}, nft.Established, nft.OverLimit{Key: []nft.Term{{Field: nft.IIfName}}, Set: set.Name, Count: 1}, nft.Drop())
}

// readLimits sorts the sets of limits by the Program that they are of.
func (s *sight) readLimits(l *nft.Listing) {
	for _, set := range l.Sets {
		id, ok := strings.CutPrefix(set.Name, limitSet)
		if !ok {
			continue
		}
		id, _, _ = strings.Cut(id, "-")
		if p := s.programs[id]; p != nil {
			p.limits = append(p.limits, set)
		}
	}
}
