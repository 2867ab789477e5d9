package firewalld

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Zone and Policy are what firewalld calls the zone that bridges are bound to, and what lets traffic to them through.
const (
	Zone   = "taproom"
	Policy = "taproom-in"
)

// port is a port and its protocol as firewalld takes them.
type port struct{ Port, Protocol string }

// zone says what guests reach: everything that the host forwards, which the rules below decide about, and of the host itself
// DHCP, DNS, TFTP, ssh and ICMP. Ports rather than firewalld's services: some of these load modules that a kernel may lack.
func zone() map[string]any {
	return map[string]any{
		"short":       "taproom",
		"description": "Bridges of virtual networks. What guests may send and receive is decided by rules of taproom's own; this zone lets it through, and limits what they reach of this host.",
		"target":      "ACCEPT",
		"ports": []port{
			{"67", "udp"}, {"547", "udp"}, {"53", "udp"}, {"53", "tcp"}, {"69", "udp"}, {"22", "tcp"},
		},
		"protocols": []string{"icmp", "ipv6-icmp"},
		"rules_str": []string{`rule priority="32767" reject`},
	}
}

// policy lets through what comes to guests from elsewhere.
func policy() map[string]any {
	return map[string]any{
		"short":         "taproom, to guests",
		"description":   "What is forwarded to bridges of virtual networks. Which of it guests receive is decided by rules of taproom's own.",
		"target":        "ACCEPT",
		"ingress_zones": []string{"ANY"},
		"egress_zones":  []string{Zone},
	}
}

// prepareFor makes sure that firewalld has our zone when links are to be bound to it.
func (s *session) prepareFor(ctx context.Context, zones map[string]string) error {
	for _, zone := range zones {
		if zone == Zone {
			return s.prepare(ctx)
		}
	}
	return nil
}

// prepare makes sure that firewalld has the zone and the policy. It asks once for each firewalld.
func (s *session) prepare(ctx context.Context) error {
	b := s.bus
	if err := b.take(ctx); err != nil {
		return err
	}
	done := b.prepared && b.owner == s.owner
	b.give()
	if done {
		return nil
	}
	if err := s.install(ctx); err != nil {
		return fmt.Errorf("set firewalld up for guests' networks: %w", err)
	}
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	b.prepared = b.owner == s.owner
	return nil
}

// installed reports whether zone and policy are in force.
func (s *session) installed(ctx context.Context) (bool, error) {
	var zones, policies []string
	err := errors.Join(s.call(ctx, ".zone.getZones", &zones), s.call(ctx, ".policy.getPolicies", &policies))
	return slices.Contains(zones, Zone) && slices.Contains(policies, Policy), err
}

func (s *session) install(ctx context.Context) error {
	there, err := s.installed(ctx)
	if err != nil || there {
		return err
	}
	// What is there already, but not in force, somebody made just now, or we did and were ended.
	if err := s.configure(ctx, "addZone2", Zone, zone()); err != nil && !refused(err, "NAME_CONFLICT") {
		return err
	}
	if err := s.configure(ctx, "addPolicy", Policy, policy()); err != nil && !refused(err, "NAME_CONFLICT") {
		return err
	}
	return s.call(ctx, ".reload", nil)
}
