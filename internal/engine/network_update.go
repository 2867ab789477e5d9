package engine

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// Sections and commands of virNetworkUpdate.
const (
	sectionBridge           = 1 // VIR_NETWORK_SECTION_BRIDGE
	sectionDomain           = 2
	sectionIP               = 3
	sectionDHCPHost         = 4 // VIR_NETWORK_SECTION_IP_DHCP_HOST
	sectionDHCPRange        = 5 // VIR_NETWORK_SECTION_IP_DHCP_RANGE
	sectionForward          = 6
	sectionForwardInterface = 7
	sectionForwardPF        = 8
	sectionPortgroup        = 9
	sectionDNSHost          = 10 // VIR_NETWORK_SECTION_DNS_HOST
	sectionDNSTXT           = 11
	sectionDNSSRV           = 12

	updateModify   = 1
	updateDelete   = 2
	updateAddLast  = 3
	updateAddFirst = 4
)

// UpdateNetwork implements server.Networks for DHCP hosts and ranges, DNS records, links of the host and port groups: the document is changed and what
// is active follows it in place, so guests notice nothing. Both documents are checked before either is changed.
func (e *Engine) UpdateNetwork(ctx context.Context, uuid spec.UUID, u server.NetworkUpdate) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	if err := e.updateNetwork(ctx, n, u); err != nil {
		return err
	}
	if u.Section != sectionPortgroup { // who asks for something else is not told what a guest does not take
		return nil
	}
	return e.regroup(ctx, n)
}

// updateNetwork is UpdateNetwork but for the NICs of guests that run.
func (e *Engine) updateNetwork(ctx context.Context, n *network, u server.NetworkUpdate) error {
	j, err := n.slot.Begin(ctx, "update network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	live, config, err := n.affects(u.Flags)
	if err != nil {
		return err
	}
	v := n.view()
	var running, defined *spec.Network
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

// updateDocument applies an update to a document and checks the result. What cannot be updated, and in which words that is
// said, is libvirt's (virNetworkDefUpdateSection).
func (e *Engine) updateDocument(doc *spec.Network, u server.NetworkUpdate) error {
	if u.Command < updateModify || u.Command > updateAddFirst {
		return virterr.New(virterr.NoSupport, "unrecognized network update command '%d'", u.Command)
	}
	var err error
	switch u.Section {
	case sectionDHCPHost:
		err = updateDHCPHost(doc, u)
	case sectionDHCPRange:
		err = updateDHCPRange(doc, u)
	case sectionDNSHost:
		err = updateDNSHost(doc, u)
	case sectionDNSTXT:
		err = updateDNSTXT(doc, u)
	case sectionDNSSRV:
		err = updateDNSSRV(doc, u)
	case sectionBridge, sectionDomain, sectionIP, sectionForward, sectionForwardPF:
		err = virterr.New(virterr.NoSupport, "can't update '%s' section of network '%s'", sectionName(u.Section), doc.Name)
	case sectionForwardInterface:
		err = updateForwardInterface(doc, u)
	case sectionPortgroup:
		err = updatePortGroup(doc, u)
	default:
		err = virterr.New(virterr.NoSupport, "can't update unrecognized section of network")
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
	return [...]string{
		"", "bridge", "domain", "ip", "ip-dhcp-host", "ip-dhcp-range", "forward", "forward-interface", "forward-pf",
		"portgroup", "dns-host", "dns-txt", "dns-srv",
	}[section]
}

// adds reports whether the command adds something.
func adds(u server.NetworkUpdate) bool {
	return u.Command == updateAddFirst || u.Command == updateAddLast
}

// added puts an item where the command wants it.
func added[T any](list []T, item T, u server.NetworkUpdate) []T {
	if u.Command == updateAddFirst {
		return append([]T{item}, list...)
	}
	return append(list[:len(list):len(list)], item)
}

// matching returns the indexes of the items that match.
func matching[T any](list []T, match func(*T) bool) []int {
	var out []int
	for i := range list {
		if match(&list[i]) {
			out = append(out, i)
		}
	}
	return out
}
