package vnet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"taproom/internal/host"
	"taproom/internal/spec"
)

// ErrCollision says that a network's subnet leads somewhere else already.
var ErrCollision = errors.New("subnet in use")

// CollisionError names the subnet and the link. It is an ErrCollision.
type CollisionError struct {
	Network string
	Subnet  netip.Prefix
	Link    int
}

// Error implements error.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("network %s: the host reaches %s by link %d already (`ip route show %s`); choose another subnet, or remove that route",
		e.Network, e.Subnet, e.Link, e.Subnet)
}

// Is makes it an ErrCollision.
func (e *CollisionError) Is(target error) bool { return target == ErrCollision }

// Collision refuses a network whose subnet is exactly that of a route of the host, as libvirt does: two routes to one
// subnet, and one of them leads nowhere. Wider and narrower routes are fine, the most specific one wins. Links in own are
// the network's: their routes are meant.
func Collision(n *spec.Network, routes []host.Route, own ...int) error {
	for _, p := range subnets(n) {
		for _, r := range routes {
			if r.To == p && !slices.Contains(own, r.Link) {
				return &CollisionError{Network: n.Name, Subnet: p, Link: r.Link}
			}
		}
	}
	return nil
}
