package vnet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"taproom/internal/host"
	"taproom/internal/spec"
)

// ErrCollision says that a network's subnet leads somewhere else already.
var ErrCollision = errors.New("subnet in use")

// CollisionError names the subnet and the link. It is an ErrCollision.
type CollisionError struct {
	Subnet netip.Prefix
	Link   int
	Name   string // of the link, where somebody has looked
}

// Error implements error.
func (e *CollisionError) Error() string {
	link := e.Name
	if link == "" {
		link = strconv.Itoa(e.Link)
	}
	show := "ip route show"
	if e.Subnet.Addr().Is6() {
		show = "ip -6 route show"
	}
	return fmt.Sprintf("the host reaches %s by link %s already (`%s %s`); choose another subnet, or remove that route", e.Subnet, link, show, e.Subnet)
}

// Is makes it an ErrCollision.
func (e *CollisionError) Is(target error) bool { return target == ErrCollision }

// Collision refuses a network whose subnet is exactly that of a route of the host, as libvirt does: two routes to one
// subnet, and one of them leads nowhere; of a static route that is so where both have the same metric. Wider and narrower routes are fine, the most specific one wins. Links in own are
// the network's: their routes are meant.
func Collision(n *spec.Network, routes []host.Route, own ...int) error {
	wanted := Subnets(n)
	static, err := staticRoutes(n)
	if err != nil {
		return err
	}
	for _, r := range routes {
		if slices.Contains(own, r.Link) {
			continue
		}
		same := func(s host.StaticRoute) bool { return s.To == r.To && s.Metric == r.Metric }
		if slices.Contains(wanted, r.To) || slices.ContainsFunc(static, same) {
			return &CollisionError{Subnet: r.To, Link: r.Link}
		}
	}
	return nil
}

// Addresses are those that the host has on a network.
func Addresses(n *spec.Network) []netip.Addr {
	var out []netip.Addr
	for i := range n.IPs {
		if p, err := n.IPs[i].Subnet(); err == nil {
			out = append(out, p.Addr())
		}
	}
	return out
}
