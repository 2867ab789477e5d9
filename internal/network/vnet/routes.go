package vnet

import (
	"slices"

	"taproom/internal/host"
	"taproom/internal/spec"
)

// metric6 is what the kernel gives a route of IPv6 that has no metric.
const metric6 = 1024

// staticRoutes are the network's static routes.
func staticRoutes(n *spec.Network) ([]host.StaticRoute, error) {
	var out []host.StaticRoute
	for i := range n.Routes {
		to, err := n.Routes[i].Subnet()
		if err != nil {
			return nil, invalid("route", "%v", err)
		}
		via, metric, err := n.Routes[i].Router()
		if err != nil {
			return nil, invalid("route", "%v", err)
		}
		if metric == 0 && to.Addr().Is6() {
			metric = metric6
		}
		out = append(out, host.StaticRoute{To: to.Masked(), Via: via, Metric: metric})
	}
	slices.SortFunc(out, host.CompareRoute)
	return out, nil
}
