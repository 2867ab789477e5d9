package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/network/qos"
	"taproom/internal/spec"
)

// SetInterfaceParams implements server.InterfaceTunables.
func (e *Engine) SetInterfaceParams(ctx context.Context, uuid spec.UUID, device string, params []server.Param, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	device = e.addressOf(uuid, device)
	return e.rework(ctx, uuid, flags, "bound a NIC of", func(doc *spec.Domain, running bool) error {
		nic := nicOf(doc, device)
		if nic == nil {
			return noNIC(d, device)
		}
		have := nic.Bandwidth
		if running {
			have = e.boundsNow(uuid, nic)
		}
		b, err := reband(have, params)
		if err != nil {
			return err
		}
		nic.Bandwidth = b
		if err := nic.CheckBandwidth(); err != nil {
			return virterr.New(virterr.CodeOf(documentError(err)), "NIC %s of domain '%s': %w", nic.MAC.Address, doc.Name, err)
		}
		return nil
	})
}

// addressOf is the address of the NIC that has a link of that name while its guest runs; what names no such link stays.
func (e *Engine) addressOf(uuid spec.UUID, device string) string {
	if h := (healView{e}).hardware(uuid.String()); h != nil {
		for _, p := range h.rec.Ports {
			if p.Name == device {
				return p.Guest
			}
		}
	}
	return device
}

// nicOf is the NIC with that link on the host, or that address; nil when there is none.
func nicOf(doc *spec.Domain, device string) *spec.Interface {
	if device == "" {
		return nil
	}
	for i := range doc.Devices.Interfaces {
		n := &doc.Devices.Interfaces[i]
		if n.Target != nil && n.Target.Dev == device || n.MAC != nil && strings.EqualFold(n.MAC.Address, device) {
			return n
		}
	}
	return nil
}

func noNIC(d *domain, device string) error {
	return virterr.New(virterr.InvalidArg, "domain '%s': cannot find interface '%s'; name the link that it has on the host, or its address (virsh domiflist %s)", d.label, device, d.label)
}

// boundsNow are the bounds that a NIC of a running guest has, of its own or by its network.
func (e *Engine) boundsNow(uuid spec.UUID, nic *spec.Interface) *spec.Bandwidth {
	if h := (healView{e}).hardware(uuid.String()); h != nil && nic.Bandwidth == nil {
		for _, p := range h.rec.Ports {
			if strings.EqualFold(p.Guest, nic.MAC.Address) {
				return p.whole(nic).Bandwidth
			}
		}
	}
	return nic.Bandwidth
}

// rateFields are the parameters of one direction, in libvirt's order.
func rateFields(direction string) []string {
	out := []string{direction + ".average", direction + ".peak", direction + ".burst"}
	if direction == "inbound" {
		out = append(out, direction+".floor")
	}
	return out
}

// reband is b with each direction replaced that something is said of. One that has neither an average nor a floor then is not
// bounded; nil is that neither is.
func reband(b *spec.Bandwidth, params []server.Param) (*spec.Bandwidth, error) {
	out := spec.Bandwidth{}
	if b != nil {
		out = *b
	}
	said := map[string]map[string]string{}
	for _, p := range params {
		direction, what, _ := strings.Cut(p.Field, ".")
		switch {
		case !slices.Contains(append(rateFields("inbound"), rateFields("outbound")...), p.Field):
			return nil, virterr.New(virterr.InvalidArg, "parameter '%s' not supported", p.Field)
		case p.Type != remote.ParamUint:
			return nil, virterr.New(virterr.InvalidArg, "parameter '%s' has another type: it is an unsigned number of 32 bits", p.Field)
		}
		if said[direction] == nil {
			said[direction] = map[string]string{}
		}
		if p.N > 0 {
			said[direction][what] = strconv.FormatUint(p.N, 10)
		}
	}
	for direction, at := range map[string]**spec.Rate{"inbound": &out.Inbound, "outbound": &out.Outbound} {
		if s := said[direction]; s != nil {
			*at = nil
			if s["average"] != "" || s["floor"] != "" {
				*at = &spec.Rate{Average: s["average"], Peak: s["peak"], Burst: s["burst"], Floor: s["floor"]}
			}
		}
	}
	if out.Inbound == nil && out.Outbound == nil {
		return nil, nil
	}
	return &out, nil
}

// InterfaceParams implements server.InterfaceTunables.
func (e *Engine) InterfaceParams(_ context.Context, uuid spec.UUID, device string, flags uint32) ([]server.Param, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	live, config, err := d.affects(flags)
	switch {
	case err != nil:
		return nil, err
	case live && config:
		return nil, virterr.New(virterr.InvalidArg, "a question is about what runs or about the definition, not about both")
	}
	var doc *spec.Domain
	if live {
		run, err := d.running()
		if err != nil {
			return nil, err
		}
		doc = run.doc()
	} else if doc, err = e.definitionOf(d); err != nil {
		return nil, err
	}
	nic := nicOf(doc, e.addressOf(uuid, device))
	if device == "" {
		return bandParams(nil)
	}
	if nic == nil {
		return nil, noNIC(d, device)
	}
	if live {
		return bandParams(e.boundsNow(uuid, nic))
	}
	return bandParams(nic.Bandwidth)
}

// bandParams are bounds as parameters; nil has them too, all 0.
func bandParams(b *spec.Bandwidth) ([]server.Param, error) {
	l, err := qos.Read(b)
	if err != nil {
		return nil, fmt.Errorf("a document that was checked: %w", err)
	}
	var out []server.Param
	values := []uint64{l.In.Average, l.In.Peak, l.In.Burst, l.In.Floor, l.Out.Average, l.Out.Peak, l.Out.Burst}
	for i, name := range append(rateFields("inbound"), rateFields("outbound")...) {
		out = append(out, remote.UintParam(name, uint32(values[i])))
	}
	return out, nil
}
