package netwhy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/network/why"
)

// RulesNaming lists the rules of others, of both families, that ask by which link a packet comes or goes, and name this one.
func (l *Looker) RulesNaming(ctx context.Context, link string) ([]string, error) {
	var out []string
	for _, to := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		f := &why.Facts{To: to}
		var err error
		if f.Tables, err = l.tables(ctx, to.Is6(), l.Table); err != nil {
			return nil, err
		}
		if err := l.texts(ctx, f); err != nil {
			return nil, err
		}
		for _, t := range f.Tables {
			for _, c := range t.Chains {
				for _, r := range c.Rules {
					said := fmt.Sprintf("table %s %s, chain %s: %s", t.Family, t.Name, c.Name, r.Text)
					if slices.ContainsFunc(r.Conds, func(c why.Cond) bool { return names(c, link) }) && !slices.Contains(out, said) {
						out = append(out, said)
					}
				}
			}
		}
	}
	return out, nil
}

// names reports whether a condition asks for the link. One that any name fits asks for none.
func names(c why.Cond, link string) bool {
	if c.Key != "in" && c.Key != "out" {
		return false
	}
	if begin := strings.TrimRight(c.Value, "+*"); begin != c.Value {
		return begin != "" && strings.HasPrefix(link, begin)
	}
	return c.Value == link
}
