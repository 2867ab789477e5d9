package server

import (
	"taproom/internal/api/remote"
)

// group is one group of the filter flags of a list: flags come in groups, a group none of whose flags is set keeps everything,
// and otherwise one of the set flags must fit.
type group []struct {
	flag uint32
	fits bool
}

func (g group) keeps(flags uint32) bool {
	asked := false
	for _, c := range g {
		if flags&c.flag == 0 {
			continue
		}
		if c.fits {
			return true
		}
		asked = true
	}
	return !asked
}

// keepDomain says whether a list with these flags names d.
func keepDomain(d *Domain, flags uint32) bool {
	if flags == 0 {
		return true
	}
	other := d.State != DomainRunning && d.State != DomainPaused && d.State != DomainShutoff
	return group{{ListActive, d.Active()}, {ListInactive, !d.Active()}}.keeps(flags) &&
		group{{ListPersistent, d.Persistent}, {ListTransient, !d.Persistent}}.keeps(flags) &&
		group{
			{ListRunning, d.State == DomainRunning},
			{ListPaused, d.State == DomainPaused},
			{ListShutoff, d.State == DomainShutoff},
			{ListOther, other},
		}.keeps(flags) &&
		group{{ListManagedsave, d.ManagedSave}, {ListNoManagedsave, !d.ManagedSave}}.keeps(flags) &&
		group{{ListAutostart, d.Autostart}, {ListNoAutostart, !d.Autostart}}.keeps(flags) &&
		group{{ListHasSnapshot, false}, {ListNoSnapshot, true}}.keeps(flags) &&
		group{{ListHasCheckpoint, false}, {ListNoCheckpoint, true}}.keeps(flags)
}

// keepNetwork says whether a list with these flags names n.
func keepNetwork(n *Network, flags uint32) bool {
	return group{{ListNetworksActive, n.Active}, {ListNetworksInactive, !n.Active}}.keeps(flags) &&
		group{{ListNetworksPersistent, n.Persistent}, {ListNetworksTransient, !n.Persistent}}.keeps(flags) &&
		group{{ListNetworksAutostart, n.Autostart}, {ListNetworksNoAutostart, !n.Autostart}}.keeps(flags)
}

func wireDomain(d Domain) remote.Domain { return remote.Domain{Name: d.Name, UUID: d.UUID, ID: d.ID} }

func wireNetwork(n Network) remote.Network { return remote.Network{Name: n.Name, UUID: n.UUID} }

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// domains are those that flags keep.
func domains(b Backend, flags uint32) []Domain {
	all := b.ListDomains(nil)
	if flags == 0 {
		return all
	}
	kept := all[:0]
	for i := range all {
		if keepDomain(&all[i], flags) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// networks are those that flags keep.
func networks(b Backend, flags uint32) []Network {
	all := b.ListNetworks(nil)
	kept := all[:0]
	for i := range all {
		if keepNetwork(&all[i], flags) {
			kept = append(kept, all[i])
		}
	}
	return kept
}
