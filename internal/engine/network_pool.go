package engine

import (
	"fmt"
	"slices"

	"taproom/internal/api/virterr"
	"taproom/internal/engine/nodedev"
	"taproom/internal/spec"
)

// onPool puts a NIC on one of the links that its network hands out: on the one that has the fewest of them, as libvirt does;
// in mode passthrough on one that nobody has.
func (p placement) onPool(doc *spec.Domain, nic spec.Interface, n *spec.Network, to port) (*directPort, error) {
	refuse := func(format string, args ...any) error {
		return virterr.New(virterr.ConfigUnsupported, "domain '%s': NIC %s: network '%s' "+format, append([]any{doc.Name, nic.MAC.Address, n.Name}, args...)...)
	}
	switch {
	case nic.OnSwitch():
		return nil, refuse("puts guests on links of the host; <virtualport type='openvswitch'/> is for networks with a bridge of Open vSwitch")
	case nic.Isolated():
		return nil, refuse("puts guests on links of the host, which have no isolated ports; mode='private' keeps its guests apart")
	}
	links, err := p.e.handedOut(n)
	if err != nil {
		return nil, refuse("%w", err)
	}
	alone := n.DirectMode() == "passthrough"
	used := p.e.lowers.count(links)
	slices.SortStableFunc(links, func(a, b string) int { return used[a] - used[b] })
	var first error
	for _, link := range links {
		if !p.e.lowers.take(link, to.ID, alone) {
			continue
		}
		on := nic
		on.Source = &spec.InterfaceSource{Dev: link, Mode: n.DirectMode()}
		d, err := p.onLower(doc, on, to)
		if err == nil {
			return d, nil
		}
		p.e.lowers.release(link, to.ID)
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = refuse("has no link left: each of its %d has a guest, and mode='passthrough' gives one to one guest; stop one, or add an <interface dev='…'/>", len(links))
	}
	return nil, first
}

// handedOut are the links that a network puts guests on: those of its document, or of the functions of its SR-IOV NIC.
func (e *Engine) handedOut(n *spec.Network) ([]string, error) {
	if len(n.Forward.PFs) == 0 {
		return n.Forward.Uplinks(), nil
	}
	dev := n.Forward.PFs[0].Dev
	links, err := nodedev.Sysfs{Kernel: e.k}.Functions(dev)
	if err == nil && len(links) == 0 {
		err = fmt.Errorf("%s has no virtual functions with links here; make some (echo 4 >/sys/class/net/%s/device/sriov_numvfs)", dev, dev)
	}
	if err != nil {
		return nil, fmt.Errorf("<pf dev='%s'>: %w", dev, err)
	}
	return links, nil
}

// functionsAreThere refuses a network whose SR-IOV NIC has no function to give to anybody.
func (e *Engine) functionsAreThere(doc *spec.Network) error {
	if doc.Forward == nil || len(doc.Forward.PFs) == 0 {
		return nil
	}
	_, err := e.handedOut(doc)
	return err
}
