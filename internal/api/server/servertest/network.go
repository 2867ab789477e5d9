package servertest

import (
	"context"
	"slices"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// ListNetworks implements server.Networks.
func (f *Fake) ListNetworks(dst []server.Network) []server.Network {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.networks {
		dst = append(dst, n.Network)
	}
	return dst
}

// NetworkByName implements server.Networks.
func (f *Fake) NetworkByName(name string) (server.Network, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.networks {
		if n.Name == name {
			return n.Network, nil
		}
	}
	return server.Network{}, virterr.NetworkNotFound("name", name)
}

// NetworkByUUID implements server.Networks.
func (f *Fake) NetworkByUUID(uuid spec.UUID) (out server.Network, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.findNetwork(uuid)
	if err != nil {
		return out, err
	}
	return n.Network, nil
}

func (f *Fake) findNetwork(uuid spec.UUID) (*network, error) {
	for _, n := range f.networks {
		if n.UUID == uuid {
			return n, nil
		}
	}
	return nil, virterr.NetworkNotFound("uuid", uuid.String())
}

func (f *Fake) changeNetwork(call string, uuid spec.UUID, do func(*network) error) error {
	if err := f.enter(call); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.findNetwork(uuid)
	if err != nil {
		return err
	}
	return do(n)
}

// NetworkXML implements server.Networks.
func (f *Fake) NetworkXML(_ context.Context, uuid spec.UUID, _ uint32) (doc string, err error) {
	err = f.changeNetwork("NetworkXML", uuid, func(n *network) error {
		doc = n.doc
		return nil
	})
	return doc, err
}

func (f *Fake) addNetwork(call, doc string, persistent bool) (server.Network, error) {
	if err := f.enter(call); err != nil {
		return server.Network{}, err
	}
	p, uuid, err := parse("network", doc)
	if err != nil {
		return server.Network{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := &network{Network: server.Network{Name: p.Name, UUID: uuid, Bridge: p.Bridge.Name, Persistent: persistent, Active: !persistent}, doc: doc}
	f.networks = append(f.networks, n)
	f.sort()
	event := int32(server.NetworkEventDefined)
	if !persistent {
		event = server.NetworkEventStarted
	}
	f.emit(server.NetworkLifecycle{Network: n.Network, Event: event})
	return n.Network, nil
}

// DefineNetwork implements server.Networks.
func (f *Fake) DefineNetwork(_ context.Context, doc string, _ uint32) (server.Network, error) {
	return f.addNetwork("DefineNetwork", doc, true)
}

// CreateNetwork implements server.Networks.
func (f *Fake) CreateNetwork(_ context.Context, doc string, _ uint32) (server.Network, error) {
	return f.addNetwork("CreateNetwork", doc, false)
}

// StartNetwork implements server.Networks.
func (f *Fake) StartNetwork(_ context.Context, uuid spec.UUID) error {
	return f.changeNetwork("StartNetwork", uuid, func(n *network) error {
		if n.Active {
			return virterr.New(virterr.OperationInvalid, "network is already active").In(virterr.FromNetwork)
		}
		n.Active = true
		f.emit(server.NetworkLifecycle{Network: n.Network, Event: server.NetworkEventStarted})
		return nil
	})
}

// DestroyNetwork implements server.Networks.
func (f *Fake) DestroyNetwork(_ context.Context, uuid spec.UUID) error {
	return f.changeNetwork("DestroyNetwork", uuid, func(n *network) error {
		if !n.Active {
			return virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.Name).In(virterr.FromNetwork)
		}
		n.Active = false
		f.emit(server.NetworkLifecycle{Network: n.Network, Event: server.NetworkEventStopped})
		f.dropNetwork(n)
		return nil
	})
}

func (f *Fake) dropNetwork(n *network) {
	if !n.Active && !n.Persistent {
		f.networks = slices.DeleteFunc(f.networks, func(o *network) bool { return o == n })
	}
}

// UndefineNetwork implements server.Networks.
func (f *Fake) UndefineNetwork(_ context.Context, uuid spec.UUID) error {
	return f.changeNetwork("UndefineNetwork", uuid, func(n *network) error {
		n.Persistent = false
		f.emit(server.NetworkLifecycle{Network: n.Network, Event: server.NetworkEventUndefined})
		f.dropNetwork(n)
		return nil
	})
}

// SetNetworkAutostart implements server.Networks.
func (f *Fake) SetNetworkAutostart(_ context.Context, uuid spec.UUID, on bool) error {
	return f.changeNetwork("SetNetworkAutostart", uuid, func(n *network) error {
		n.Autostart = on
		return nil
	})
}

// UpdateNetwork implements server.Networks.
func (f *Fake) UpdateNetwork(_ context.Context, uuid spec.UUID, u server.NetworkUpdate) error {
	return f.changeNetwork("UpdateNetwork", uuid, func(n *network) error {
		n.doc += "<!-- " + u.XML + " -->\n"
		return nil
	})
}

// DHCPLeases implements server.Networks.
func (f *Fake) DHCPLeases(_ context.Context, uuid spec.UUID, mac string) (leases []server.DHCPLease, err error) {
	err = f.changeNetwork("DHCPLeases", uuid, func(n *network) error {
		if mac == "" || mac == "52:54:00:00:00:01" {
			leases = []server.DHCPLease{{
				Interface: n.Bridge, Expiry: time.Unix(1800000000, 0), MAC: "52:54:00:00:00:01",
				Addr: "192.168.122.2", Prefix: 24, Hostname: "guest", ClientID: "01:52:54:00:00:00:01",
			}}
		}
		return nil
	})
	return leases, err
}
