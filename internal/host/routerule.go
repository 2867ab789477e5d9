package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of rules that name a link (linux/fib_rules.h).
const (
	fraIIFName = 3
	fraOIFName = 17
)

// RouteRule is a rule that chooses a routing table, as the kernel tells it: everything it says is kept, so that the same rule
// can be made for another link.
type RouteRule struct {
	Header []byte     `json:"header"` // struct fib_rule_hdr; the first byte is the family
	Attrs  []RuleAttr `json:"attrs"`
}

// RuleAttr is an attribute of a rule (FRA_*).
type RuleAttr struct {
	Kind  uint16 `json:"kind"`
	Value []byte `json:"value"`
}

// RouteRules lists the rules of both families that name the link.
func (k *Kernel) RouteRules(link string) ([]RouteRule, error) {
	var out []RouteRule
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		k.Step("rule list")
		msgs, err := k.get(unix.RTM_GETRULE, unix.NLM_F_DUMP, unix.RTM_NEWRULE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT) { // a kernel without rules
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list rules of routing: %w", err)
		}
		for _, m := range msgs {
			r, err := parseRouteRule(m)
			if err != nil {
				return nil, err
			}
			if len(r.Header) > 0 && r.Header[0] == family && r.names(link) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func parseRouteRule(m []byte) (RouteRule, error) {
	if len(m) < unix.SizeofRtMsg {
		return RouteRule{}, errors.New("the kernel sent a message about a rule that is too short")
	}
	r := RouteRule{Header: slices.Clone(m[:unix.SizeofRtMsg])}
	const detached = 0x18 // FIB_RULE_IIF_DETACHED, FIB_RULE_OIF_DETACHED: there is no such link
	r.Header[8] &^= detached
	err := attrs(m[unix.SizeofRtMsg:], func(kind uint16, value []byte) error {
		r.Attrs = append(r.Attrs, RuleAttr{Kind: kind, Value: slices.Clone(value)})
		return nil
	})
	return r, err
}

func (r RouteRule) names(link string) bool {
	return slices.ContainsFunc(r.Attrs, func(a RuleAttr) bool { return a.link() && unix.ByteSliceToString(a.Value) == link })
}

func (a RuleAttr) link() bool { return a.Kind == fraIIFName || a.Kind == fraOIFName }

// Renamed is the same rule for another link.
func (r RouteRule) Renamed(from, to string) RouteRule {
	out := RouteRule{Header: r.Header, Attrs: slices.Clone(r.Attrs)}
	for i, a := range out.Attrs {
		if a.link() && unix.ByteSliceToString(a.Value) == from {
			out.Attrs[i].Value = nl.ZeroTerminated(to)
		}
	}
	return out
}

// AddRouteRule makes a rule. One that is there is not an error.
func (k *Kernel) AddRouteRule(r RouteRule) error {
	k.Step("rule add")
	err := k.do(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, r.message()...)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add a rule of routing: %w", err)
	}
	return nil
}

// DelRouteRule removes a rule. One that is not there is not an error.
func (k *Kernel) DelRouteRule(r RouteRule) error {
	k.Step("rule delete")
	err := k.do(unix.RTM_DELRULE, 0, r.message()...)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove a rule of routing: %w", err)
	}
	return nil
}

// rawHeader is a message's, as it is sent.
type rawHeader []byte

// Len implements nl.NetlinkRequestData.
func (h rawHeader) Len() int { return len(h) }

// Serialize implements nl.NetlinkRequestData.
func (h rawHeader) Serialize() []byte { return h }

func (r RouteRule) message() []nl.NetlinkRequestData {
	data := []nl.NetlinkRequestData{rawHeader(r.Header)}
	for _, a := range r.Attrs {
		data = append(data, nl.NewRtAttr(int(a.Kind), a.Value))
	}
	return data
}
