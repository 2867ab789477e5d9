package engine

import (
	"bytes"
	"context"
	"slices"

	"taproom/internal/engine/hook"
	"taproom/internal/spec"
)

// tellNetwork tells the programs of something that happens to a network, with its document and, where it is about a port,
// that port's.
func (e *Engine) tellNetwork(ctx context.Context, doc *spec.Network, operation, phase string, port *spec.NetworkPort) error {
	c := hook.Call{Kind: hook.Network, Object: doc.Name, Operation: operation, Phase: phase}
	return e.tell(ctx, c, func() []byte {
		var b bytes.Buffer
		b.WriteString("<hookData>\n")
		b.Write(doc.Format())
		if port != nil {
			b.Write(port.Format())
		}
		b.WriteString("</hookData>\n")
		return b.Bytes()
	})
}

// tellStopped tells of a network that has gone. What the programs say of it is not asked.
func (e *Engine) tellStopped(ctx context.Context, doc *spec.Network) {
	if err := e.tellNetwork(ctx, doc, "stopped", "end", nil); err != nil {
		e.log.Warn("tell of a network that was stopped", "network", doc.Name, "error", err)
	}
}

// tellPorts tells of NICs that come to networks, or go: of those of h that other does not have on the same one. The programs
// may refuse one that comes.
func (e *Engine) tellPorts(ctx context.Context, operation string, h, other *hardware) error {
	if !e.hooked(hook.Network) {
		return nil
	}
	for _, p := range h.rec.Ports {
		same := func(o port) bool { return o.ID == p.ID && o.Network == p.Network }
		if p.Network == "" || other != nil && slices.ContainsFunc(other.rec.Ports, same) {
			continue
		}
		n, ok := e.networks.named(p.Network)
		if !ok {
			continue
		}
		live := n.view().live
		if live == nil {
			continue
		}
		if err := e.tellNetwork(ctx, live, operation, "begin", portDocument(h, n, p)); err != nil {
			return err
		}
	}
	return nil
}

// tellPortsGone is tellPorts of NICs that are gone already.
func (e *Engine) tellPortsGone(ctx context.Context, h, other *hardware) {
	if err := e.tellPorts(ctx, "port-deleted", h, other); err != nil {
		e.log.Warn("tell of NICs that left their networks", "domain", h.rec.Name, "error", err)
	}
}
