package engine

import (
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// updatePortGroup changes what NICs are given from now on. Those of guests that run keep what they have, but for what bounds their
// traffic (regroup).
func updatePortGroup(doc *spec.Network, u server.NetworkUpdate) error {
	g, err := spec.ParsePortGroup([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	if g.Name == "" {
		return virterr.New(virterr.XMLError, "network '%s': missing required name attribute in portgroup", doc.Name)
	}
	at := slices.IndexFunc(doc.PortGroups, func(o spec.PortGroup) bool { return o.Name == g.Name })
	other := slices.IndexFunc(doc.PortGroups, func(o spec.PortGroup) bool { return o.Default == "yes" && o.Name != g.Name })
	switch {
	case adds(u) && at >= 0:
		return virterr.New(virterr.OperationInvalid, "there is an existing portgroup entry in network '%s' that matches \"<portgroup name='%s'>\"", doc.Name, g.Name)
	case !adds(u) && at < 0:
		return virterr.New(virterr.OperationInvalid, "couldn't find a portgroup entry in network '%s' matching <portgroup name='%s'>", doc.Name, g.Name)
	case u.Command == updateDelete:
		doc.PortGroups = slices.Delete(doc.PortGroups, at, at+1)
		return nil
	case g.Default == "yes" && other >= 0:
		return virterr.New(virterr.OperationInvalid, "a different portgroup entry in network '%s' is already set as the default. Only one default is allowed: it is '%s'", doc.Name, doc.PortGroups[other].Name)
	case u.Command == updateModify:
		doc.PortGroups[at] = *g
	default:
		doc.PortGroups = added(doc.PortGroups, *g, u)
	}
	doc.CompleteGroups()
	return nil
}
