package lan

import (
	"errors"
	"fmt"

	"taproom/internal/host"
)

// Side is one of the two links as it is.
type Side struct {
	Link       host.Link // Index 0: there is none
	Carrier    bool
	Addresses  []host.HostAddress
	Routes     []host.HostRoute
	Rules      []host.RouteRule
	Neighbours []host.Neighbour
	Settings   map[string]string
}

// Seen is what there is.
type Seen struct {
	Now         int64 // time since boot, in nanoseconds
	NIC, Bridge Side
	Device      host.NetDevice    // of the NIC
	Fresh       map[string]string // settings that a new link gets
	Links       []host.Link
}

// Look reads what there is of a NIC and of a bridge that may not exist.
func Look(k *host.Kernel, nic, bridge string) (*Seen, error) {
	s := &Seen{}
	var err error
	if s.Now, err = k.Uptime(); err != nil {
		return nil, err
	}
	if s.Links, err = k.Links(); err != nil {
		return nil, err
	}
	if s.Fresh, err = k.LinkConf("default"); err != nil {
		return nil, err
	}
	neighbours, err := k.Neighbours()
	if err != nil {
		return nil, err
	}
	for _, one := range []struct {
		name string
		to   *Side
	}{{nic, &s.NIC}, {bridge, &s.Bridge}} {
		for _, l := range s.Links {
			if l.Name == one.name {
				one.to.Link = l
			}
		}
		if err := one.to.look(k, neighbours); err != nil && !errors.Is(err, host.ErrNoLink) {
			return nil, fmt.Errorf("look at link %s: %w", one.name, err)
		}
	}
	if s.NIC.Link.Index != 0 {
		s.Device, err = k.NetDevice(nic)
	}
	return s, err
}

func (s *Side) look(k *host.Kernel, neighbours []host.Neighbour) error {
	if s.Link.Index == 0 {
		return nil
	}
	state, err := k.LinkState(s.Link.Index)
	if err != nil {
		return err
	}
	s.Carrier = state.Carrier
	if s.Addresses, err = k.HostAddresses(s.Link.Index); err != nil {
		return err
	}
	if s.Routes, err = k.HostRoutes(s.Link.Index); err != nil {
		return err
	}
	if s.Rules, err = k.RouteRules(s.Link.Name); err != nil {
		return err
	}
	for _, n := range neighbours {
		if n.Index == s.Link.Index {
			s.Neighbours = append(s.Neighbours, n)
		}
	}
	s.Settings, err = k.LinkConf(s.Link.Name)
	return err
}

// port reports whether the NIC is a port of the bridge.
func (s *Seen) port() bool {
	return s.Bridge.Link.Index != 0 && s.NIC.Link.Master == s.Bridge.Link.Index
}

// Ports are the ports of the bridge beside the NIC.
func (s *Seen) Ports() []string {
	var out []string
	for _, l := range s.Links {
		if s.Bridge.Link.Index != 0 && l.Master == s.Bridge.Link.Index && l.Index != s.NIC.Link.Index {
			out = append(out, l.Name)
		}
	}
	return out
}
