package engine

import (
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// updateForwardInterface changes which links of the host a network hands out, or goes out by. Guests that are on one that
// goes stay there; the next one is put elsewhere.
func updateForwardInterface(doc *spec.Network, u server.NetworkUpdate) error {
	if u.Command == updateModify {
		return virterr.New(virterr.OperationInvalid, "forward interface entries cannot be modified, only added or deleted")
	}
	link, err := spec.ParseForwardInterface([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	f := doc.Forward
	if f == nil {
		return virterr.New(virterr.OperationInvalid, "network '%s' has no <forward>, and so no links of the host", doc.Name)
	}
	at := matching(f.Interfaces, func(o *spec.ForwardInterface) bool { return o.Dev == link.Dev })
	switch {
	case adds(u) && len(at) > 0:
		return virterr.New(virterr.OperationInvalid, "there is an existing interface entry in network '%s' that matches \"<interface dev='%s'>\"", doc.Name, link.Dev)
	case adds(u):
		f.Interfaces = added(f.Interfaces, *link, u)
	case len(at) == 0:
		return virterr.New(virterr.OperationInvalid, "couldn't find an interface entry in network '%s' matching <interface dev='%s'>", doc.Name, link.Dev)
	default:
		f.Interfaces = slices.Delete(f.Interfaces, at[0], at[0]+1)
	}
	f.Dev = ""
	f.Complete()
	return nil
}
