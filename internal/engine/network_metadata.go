package engine

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// affects says what a change is for: with neither flag what is active, or the definition of what is not.
func (n *network) affects(flags uint32) (live, config bool, err error) {
	v := n.view()
	live, config = flags&server.AffectLive != 0, flags&server.AffectConfig != 0
	if !live && !config {
		live, config = v.live != nil, v.live == nil
	}
	switch {
	case live && v.live == nil:
		err = virterr.New(virterr.OperationInvalid, "network '%s' is not active", n.label)
	case config && v.def == nil:
		err = virterr.New(virterr.OperationInvalid, "transient network '%s' has no persistent configuration", n.label)
	}
	return live, config, err
}

// SetNetworkMetadata implements server.Descriptions. Nothing on the host changes, unless it is what taproom reads itself.
func (e *Engine) SetNetworkMetadata(ctx context.Context, uuid spec.UUID, m server.Metadata, flags uint32) error {
	n, err := e.network(uuid)
	if err != nil {
		return err
	}
	j, err := n.slot.Begin(ctx, "describe network '"+n.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	live, config, err := n.affects(flags)
	if err != nil {
		return err
	}
	v := n.view()
	var active, defined *spec.Network
	if live {
		active = v.live.Clone()
		err = describeNetwork(active, m)
	}
	if err == nil && config {
		if defined, err = spec.ParseNetwork(v.def.xml); err == nil {
			err = describeNetwork(defined, m)
		}
	}
	switch {
	case err != nil || !live:
	case m.URI == spec.TaproomNetworkNamespace: // it says something of the host
		err = e.rechange(j.Context(), n, active)
	default:
		if err = e.keepActive(n, active); err == nil {
			n.update(func(v *netView) { v.live = active })
		}
	}
	if err == nil && config {
		err = e.rewriteNetwork(n, defined)
	}
	if err == nil {
		e.publish(server.NetworkMetadataChange{Network: n.view().ref, Type: m.Type, URI: m.URI})
	}
	return err
}

func describeNetwork(doc *spec.Network, m server.Metadata) error {
	if err := describedNetwork(doc).set(m); err != nil {
		return about("network", doc.Name, err)
	}
	text := doc.Format()
	if err := notTooLong(text); err != nil {
		return about("network", doc.Name, err)
	}
	read, err := spec.ParseNetwork(text)
	if err == nil && m.URI == spec.TaproomNetworkNamespace {
		err = read.Validate()
	}
	return about("network", doc.Name, documentError(err))
}

// rewriteNetwork is rewrite for networks.
func (e *Engine) rewriteNetwork(n *network, doc *spec.Network) error {
	def := &defined{head: n.view().def.head, xml: doc.Format()}
	if err := e.keepNetwork(n, def); err != nil {
		return err
	}
	n.update(func(v *netView) { v.def = def })
	return nil
}

// NetworkMetadata implements server.Descriptions.
func (e *Engine) NetworkMetadata(uuid spec.UUID, m server.Metadata, flags uint32) (string, error) {
	n, err := e.network(uuid)
	if err != nil {
		return "", err
	}
	live, _, err := n.affects(flags)
	if err != nil {
		return "", err
	}
	v := n.view()
	if live && v.live != nil {
		return describedNetwork(v.live).get(m, virterr.NoNetworkMetadata)
	}
	if v.def == nil {
		return "", virterr.NetworkNotFound("uuid", uuid.String())
	}
	doc, err := spec.ParseNetwork(v.def.xml)
	if err != nil {
		return "", err
	}
	return describedNetwork(doc).get(m, virterr.NoNetworkMetadata)
}
