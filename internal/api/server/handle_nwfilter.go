package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func bindNWFilters(p *program) {
	bindNWFilterReads(p)
	bindNWFilterBindings(p)
	define := func(q *request, xml string, flags uint32, r *remote.Network) error {
		f, err := q.backend.DefineNWFilter(q.ctx, xml, flags)
		*r = remote.Network{Name: f.Name, UUID: f.UUID}
		return err
	}
	bind(p, remote.ProcNWFilterDefineXML, func(q *request, a *remote.String, r *remote.Network) error {
		return define(q, a.S, 0, r)
	})
	bind(p, remote.ProcNWFilterDefineXMLFlags, func(q *request, a *remote.StringFlags, r *remote.Network) error {
		return define(q, a.S, a.Flags, r)
	})
	bind(p, remote.ProcNWFilterUndefine, func(q *request, a *remote.Network, _ *xdr.Void) error {
		return q.backend.UndefineNWFilter(q.ctx, a.UUID)
	})
}

func bindNWFilterReads(p *program) {
	bind(p, remote.ProcConnectListAllNWFilters, func(q *request, a *remote.NeedFlags, r *remote.Networks) error {
		for _, f := range q.backend.ListNWFilters() {
			if r.N++; a.Need != 0 {
				r.Networks = append(r.Networks, remote.Network{Name: f.Name, UUID: f.UUID})
			}
		}
		return nil
	})
	bind(p, remote.ProcConnectListNWFilters, func(q *request, a *remote.Int, r *remote.Strings) error {
		for _, f := range q.backend.ListNWFilters() {
			if int32(len(r.S)) < a.N {
				r.S = append(r.S, f.Name)
			}
		}
		return nil
	})
	bind(p, remote.ProcConnectNumOfNWFilters, func(q *request, _ *xdr.Void, r *remote.Int) error {
		r.N = int32(len(q.backend.ListNWFilters()))
		return nil
	})
	bind(p, remote.ProcNWFilterLookupByName, func(q *request, a *remote.String, r *remote.Network) error {
		f, err := q.backend.NWFilterByName(a.S)
		*r = remote.Network{Name: f.Name, UUID: f.UUID}
		return err
	})
	bind(p, remote.ProcNWFilterLookupByUUID, func(q *request, a *remote.UUID, r *remote.Network) error {
		f, err := q.backend.NWFilterByUUID(a.UUID)
		*r = remote.Network{Name: f.Name, UUID: f.UUID}
		return err
	})
	bind(p, remote.ProcNWFilterGetXMLDesc, func(q *request, a *remote.NetworkFlags, r *remote.String) (err error) {
		r.S, err = q.backend.NWFilterXML(a.UUID)
		return err
	})
}

func bindNWFilterBindings(p *program) {
	bind(p, remote.ProcConnectListAllNWFilterBindings, func(q *request, a *remote.NeedFlags, r *remote.NWFilterBindings) error {
		for _, b := range q.backend.ListNWFilterBindings() {
			if r.N++; a.Need != 0 {
				r.Bindings = append(r.Bindings, remote.NWFilterBinding{PortDev: b.Port, Filter: b.Filter})
			}
		}
		return nil
	})
	bind(p, remote.ProcNWFilterBindingLookupByPortDev, func(q *request, a *remote.String, r *remote.NWFilterBinding) error {
		b, err := q.backend.NWFilterBinding(a.S)
		*r = remote.NWFilterBinding{PortDev: b.Port, Filter: b.Filter}
		return err
	})
	bind(p, remote.ProcNWFilterBindingGetXMLDesc, func(q *request, a *remote.NWFilterBindingFlags, r *remote.String) (err error) {
		r.S, err = q.backend.NWFilterBindingXML(a.PortDev)
		return err
	})
	bind(p, remote.ProcNWFilterBindingCreateXML, func(q *request, a *remote.StringFlags, r *remote.NWFilterBinding) error {
		b, err := q.backend.CreateNWFilterBinding(q.ctx, a.S, a.Flags)
		*r = remote.NWFilterBinding{PortDev: b.Port, Filter: b.Filter}
		return err
	})
	bind(p, remote.ProcNWFilterBindingDelete, func(q *request, a *remote.NWFilterBinding, _ *xdr.Void) error {
		return q.backend.DeleteNWFilterBinding(q.ctx, a.PortDev)
	})
}

// NoNWFilter is the answer to a name that no filter has.
func NoNWFilter(name string) error {
	return virterr.New(virterr.NoNWFilter, "no nwfilter with matching name '%s'", name)
}

// NoNWFilterUUID is the answer to a UUID that no filter has.
func NoNWFilterUUID(uuid spec.UUID) error {
	return virterr.New(virterr.NoNWFilter, "no nwfilter with matching uuid '%s'", uuid)
}

// NoNWFilterBinding is the answer to a link that no filter is bound to.
func NoNWFilterBinding(port string) error {
	return virterr.New(virterr.NoNWFilterBinding, "no nwfilter binding for port dev '%s'", port)
}
