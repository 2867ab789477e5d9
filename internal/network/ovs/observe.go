package ovs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"taproom/internal/host/ovsdb"
	"taproom/internal/network/state"
)

var portColumns = []string{"_uuid", "name", "interfaces", "external_ids", "tag", "trunks", "vlan_mode", "qos"}

// portRow is a port as the Port table has it.
type portRow struct {
	name     string
	row      ovsdb.UUID
	ids      ovsdb.Map
	ifaces   []ovsdb.UUID
	vlan     state.VLAN
	qos      []ovsdb.UUID
	bridge   string
	bounded  bool
	ifaceIDs ovsdb.Map
}

// Observe implements state.SwitchBackend. It asks twice at most: for the ports, and where they are.
func (s *Switch) Observe(ctx context.Context, scope state.SwitchScope) (state.SwitchView, error) {
	v := state.SwitchView{Ports: map[string]state.SwitchPort{}, Rows: map[string]string{}, Foreign: map[string]string{}, Bridges: map[string]state.SwitchBridge{}}
	err := s.talk(ctx, func(ctx context.Context, c *ovsdb.Conn) error {
		rows, err := s.look(ctx, c, scope, &v)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := s.locate(ctx, c, rows); err != nil {
			return err
		}
		for i := range rows {
			s.sort(&rows[i], &v)
		}
		return nil
	})
	return v, err
}

// look asks for the ports, and whether the bridges exist.
func (s *Switch) look(ctx context.Context, c *ovsdb.Conn, scope state.SwitchScope, v *state.SwitchView) ([]portRow, error) {
	var ops []ovsdb.Op
	for _, name := range scope.Bridges {
		ops = append(ops, ovsdb.Select("Bridge", []string{"datapath_type"}, ovsdb.Is("name", name)))
	}
	for _, name := range scope.Ports {
		ops = append(ops, ovsdb.Select("Port", portColumns, ovsdb.Is("name", name)))
	}
	if scope.All {
		ops = append(ops, ovsdb.Select("Port", portColumns, ovsdb.Includes("external_ids", ovsdb.Map{groupLabel: s.group()})))
	}
	results, err := s.transact(ctx, c, 0, ops...)
	if err != nil {
		return nil, err
	}
	for i, name := range scope.Bridges {
		for _, row := range results[i].Rows {
			kind, err := row.String("datapath_type")
			if err != nil {
				return nil, err
			}
			v.Bridges[name] = state.SwitchBridge{Userspace: kind == "netdev"}
		}
	}
	var rows []portRow
	for _, r := range results[len(scope.Bridges):] {
		for _, row := range r.Rows {
			p, err := readPort(row)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(rows, func(o portRow) bool { return o.row == p.row }) {
				rows = append(rows, p)
			}
		}
	}
	return rows, nil
}

func readPort(row ovsdb.Row) (p portRow, err error) {
	read := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	read(func() (err error) { p.name, err = row.String("name"); return err })
	read(func() (err error) { p.row, err = row.UUID("_uuid"); return err })
	read(func() (err error) { p.ids, err = row.Map("external_ids"); return err })
	read(func() (err error) { p.ifaces, err = row.UUIDs("interfaces"); return err })
	read(func() (err error) { p.vlan.Tag, err = ints(row, "tag"); return err })
	read(func() (err error) { p.vlan.Trunks, err = ints(row, "trunks"); return err })
	read(func() (err error) { p.qos, err = row.UUIDs("qos"); return err })
	read(func() error {
		mode, err := row.Strings("vlan_mode")
		if len(mode) > 0 {
			p.vlan.Mode = mode[0]
		}
		return err
	})
	if err != nil {
		return p, fmt.Errorf("read port %q of Open vSwitch: %w", p.name, err)
	}
	return p, nil
}

func ints(row ovsdb.Row, column string) ([]int, error) {
	all, err := row.Ints(column)
	out := make([]int, 0, len(all))
	for _, n := range all {
		out = append(out, int(n))
	}
	slices.Sort(out)
	return out, err
}

// locate asks which bridges ports are on, and what their interfaces are known by.
func (s *Switch) locate(ctx context.Context, c *ovsdb.Conn, rows []portRow) error {
	var ops []ovsdb.Op
	for _, p := range rows {
		ops = append(ops, ovsdb.Select("Bridge", []string{"name"}, ovsdb.Includes("ports", p.row)))
		ops = append(ops, ovsdb.Select("Interface", []string{"external_ids"}, ovsdb.Is("_uuid", only(p.ifaces))),
			ovsdb.Select("QoS", []string{"type"}, ovsdb.Is("_uuid", only(p.qos))))
	}
	results, err := s.transact(ctx, c, 0, ops...)
	if err != nil {
		return err
	}
	for i := range rows {
		for _, r := range results[3*i].Rows {
			if rows[i].bridge, err = r.String("name"); err != nil {
				return err
			}
		}
		for _, r := range results[3*i+1].Rows {
			if rows[i].ifaceIDs, err = r.Map("external_ids"); err != nil {
				return err
			}
		}
		for _, r := range results[3*i+2].Rows {
			kind, err := r.String("type")
			if err != nil {
				return err
			}
			rows[i].bounded = kind == noQueues
		}
	}
	return nil
}

// only is the one row that is referred to, or one that nobody has.
func only(rows []ovsdb.UUID) ovsdb.UUID {
	if len(rows) == 1 {
		return rows[0]
	}
	return "00000000-0000-0000-0000-000000000000"
}

// sort puts a port where it belongs: ours, or somebody else's. What a port without any VLAN says of them is left out.
func (s *Switch) sort(p *portRow, v *state.SwitchView) {
	if p.ids[groupLabel] != s.group() || p.ids[ownerLabel] == "" {
		v.Foreign[p.name] = "is a port of bridge " + cmp.Or(p.bridge, "(none)") + " of Open vSwitch"
		return
	}
	v.Rows[p.name] = string(p.row)
	v.Ports[p.name] = state.SwitchPort{Owner: p.ids[ownerLabel], Bridge: p.bridge, VLAN: &p.vlan, IDs: p.ifaceIDs, Bounded: p.bounded}
}
