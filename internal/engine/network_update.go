package engine

import (
	"context"
	"fmt"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// Sections and commands of virNetworkUpdate.
const (
	sectionDHCPHost  = 4 // VIR_NETWORK_SECTION_IP_DHCP_HOST
	sectionDHCPRange = 5 // VIR_NETWORK_SECTION_IP_DHCP_RANGE

	updateModify   = 1
	updateDelete   = 2
	updateAddLast  = 3
	updateAddFirst = 4
)

// UpdateNetwork implements server.Networks for DHCP hosts and ranges: the document is changed and what is active follows
// it in place, so guests notice nothing. Both documents are checked before either is changed.
func (e *Engine) UpdateNetwork(ctx context.Context, uuid spec.UUID, u server.NetworkUpdate) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "update network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	v := n.view()
	live, config := u.Flags&server.AffectLive != 0, u.Flags&server.AffectConfig != 0
	if !live && !config {
		live, config = v.live != nil, v.live == nil
	}
	var running, defined *spec.Network
	switch {
	case live && v.live == nil:
		return virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.label)
	case config && v.def == nil:
		return virterr.New(virterr.OperationInvalid, "transient network '%s' has no persistent configuration", n.label)
	}
	if live {
		running = v.live.Clone()
		err = e.updateDocument(running, u)
	}
	if err == nil && config {
		if defined, err = spec.ParseNetwork(v.def.xml); err == nil {
			err = e.updateDocument(defined, u)
		}
	}
	if err == nil && live {
		err = e.rechange(j.Context(), n, running)
	}
	if err == nil && config {
		_, err = e.redefineNetwork(n, defined)
	}
	return err
}

// updateDocument applies an update to a document and checks the result.
func (e *Engine) updateDocument(doc *spec.Network, u server.NetworkUpdate) error {
	dhcp, err := dhcpOf(doc, u.ParentIndex)
	if err != nil {
		return err
	}
	switch u.Section {
	case sectionDHCPHost:
		err = updateHosts(doc, dhcp, u)
	case sectionDHCPRange:
		err = updateRanges(doc, dhcp, u)
	default:
		return virterr.New(virterr.OperationUnsupported, "%s of network '%s' cannot be updated in place; ip-dhcp-host and ip-dhcp-range can", sectionName(u.Section), doc.Name)
	}
	if err != nil {
		return err
	}
	if err := doc.Validate(); err != nil {
		return about("network", doc.Name, documentError(err))
	}
	return nil
}

// sectionName is what virsh calls a section of virNetworkUpdate.
func sectionName(section uint32) string {
	names := []string{
		"", "bridge", "domain", "ip", "ip-dhcp-host", "ip-dhcp-range", "forward", "forward-interface", "forward-pf",
		"portgroup", "dns-host", "dns-txt", "dns-srv",
	}
	if section == 0 || int(section) >= len(names) {
		return fmt.Sprintf("section %d", section)
	}
	return names[section]
}

// dhcpOf finds the <dhcp> that is meant: of the ip element with that index, or with -1 of the first that has one.
func dhcpOf(doc *spec.Network, parent int32) (*spec.DHCP, error) {
	for i := range doc.IPs {
		if d := doc.IPs[i].DHCP; d != nil && (parent < 0 || int(parent) == i) {
			return d, nil
		}
	}
	return nil, virterr.New(virterr.OperationInvalid, "network '%s' has no <dhcp> to update", doc.Name)
}

func updateHosts(doc *spec.Network, d *spec.DHCP, u server.NetworkUpdate) error {
	h, err := spec.ParseDHCPHost([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	same := func(o spec.DHCPHost) bool {
		return h.MAC != "" && o.MAC == h.MAC || h.MAC == "" && h.IP != "" && o.IP == h.IP || h.MAC == "" && h.IP == "" && o.Name == h.Name
	}
	d.Hosts, err = updateList(d.Hosts, *h, same, u, "dhcp host entry in network '"+doc.Name+"'")
	return err
}

func updateRanges(doc *spec.Network, d *spec.DHCP, u server.NetworkUpdate) error {
	r, err := spec.ParseDHCPRange([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	if u.Command == updateModify {
		return virterr.New(virterr.OperationInvalid, "dhcp ranges cannot be modified, only added or deleted")
	}
	same := func(o spec.DHCPRange) bool { return o.Start == r.Start && o.End == r.End }
	d.Ranges, err = updateList(d.Ranges, *r, same, u, "dhcp range in network '"+doc.Name+"'")
	return err
}

// updateList does one command to a list.
func updateList[T any](list []T, item T, same func(T) bool, u server.NetworkUpdate, what string) ([]T, error) {
	at := -1
	for i, o := range list {
		if same(o) {
			at = i
		}
	}
	switch {
	case u.Command == updateModify && at >= 0:
		list[at] = item
		return list, nil
	case u.Command == updateDelete && at >= 0:
		return append(list[:at:at], list[at+1:]...), nil
	case u.Command == updateModify || u.Command == updateDelete:
		return nil, virterr.New(virterr.OperationInvalid, "couldn't locate a matching %s", what)
	case at >= 0:
		return nil, virterr.New(virterr.OperationInvalid, "there is an existing %s that matches", what)
	case u.Command == updateAddFirst:
		return append([]T{item}, list...), nil
	case u.Command == updateAddLast:
		return append(list, item), nil
	}
	return nil, virterr.New(virterr.InvalidArg, "update command %d is not known", u.Command)
}
