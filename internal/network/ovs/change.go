package ovs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/host/ovsdb"
	"taproom/internal/network/state"
)

// Set implements state.SwitchBackend. When the transaction is done the switch is told to take it up (next_cfg), waited for
// (cur_cfg), and asked what it makes of each port.
func (s *Switch) Set(ctx context.Context, ports []state.SwitchSetting) error {
	return s.talk(ctx, func(ctx context.Context, c *ovsdb.Conn) error {
		ops := []ovsdb.Op{ovsdb.Comment(comment("set", ports, func(p state.SwitchSetting) string { return p.Name }))}
		about := []string{""} // the port that each operation is for
		for i, p := range ports {
			part := s.setting(i, p)
			ops = append(ops, part...)
			for range part {
				about = append(about, p.Name)
			}
		}
		ops = append(ops, ovsdb.Mutate("Open_vSwitch", []ovsdb.Mutation{{"next_cfg", "+=", 1}}), ovsdb.Select("Open_vSwitch", []string{"next_cfg"}))
		results, err := s.transact(ctx, c, 0, ops...)
		if err != nil {
			return refusal(err, ports, about)
		}
		rows := results[len(results)-1].Rows
		if len(rows) != 1 {
			return fmt.Errorf("the database of Open vSwitch was never set up: it has %d rows of Open_vSwitch; restart it (systemctl restart openvswitch-switch)", len(rows))
		}
		next, err := rows[0].Int("next_cfg")
		if err != nil {
			return err
		}
		return s.await(ctx, c, next, ports)
	})
}

// setting is what makes or changes one port.
func (s *Switch) setting(i int, p state.SwitchSetting) []ovsdb.Op {
	var ops []ovsdb.Op
	if p.Old != nil {
		ops = append(ops, s.removal(*p.Old)...)
	}
	row := map[string]any{}
	if v := p.Port.VLAN; v != nil {
		row["tag"], row["trunks"], row["vlan_mode"] = ovsdb.SetOf(v.Tag), ovsdb.SetOf(v.Trunks), ovsdb.Set{}
		if v.Mode != "" {
			row["vlan_mode"] = v.Mode
		}
	}
	if p.Port.Bounded {
		ops = append(ops, s.handsOff(i, p, row)...)
	}
	if p.Row != "" {
		return append(ops, s.change(p, row)...)
	}
	iface, port := ovsdb.Named("i"+strconv.Itoa(i)), ovsdb.Named("p"+strconv.Itoa(i))
	row["name"], row["interfaces"] = p.Name, iface
	row["external_ids"], row["other_config"] = ovsdb.Map(s.Labels(p.Port.Owner)), ovsdb.Map{"transient": "true"}
	on := ovsdb.Is("name", p.Port.Bridge)
	return append(ops,
		// A bridge that went meanwhile: a mutation of none would be no error, and the rows would be forgotten silently.
		ovsdb.Wait("Bridge", "name", 0, on),
		ovsdb.Insert("Interface", iface, map[string]any{"name": p.Name, "external_ids": ovsdb.Map(p.Port.IDs)}),
		ovsdb.Insert("Port", port, row),
		ovsdb.Mutate("Bridge", []ovsdb.Mutation{{"ports", "insert", ovsdb.Set{port}}}, on),
	)
}

// change sets columns of a port that exists. Other members of external_ids stay.
func (s *Switch) change(p state.SwitchSetting, row map[string]any) []ovsdb.Op {
	var ops []ovsdb.Op
	if len(row) > 0 {
		ops = append(ops, ovsdb.Update("Port", row, ovsdb.Is("_uuid", ovsdb.UUID(p.Row))))
	}
	if len(p.Port.IDs) > 0 {
		var keys []string
		for k := range p.Port.IDs {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		ops = append(ops, ovsdb.Mutate("Interface", []ovsdb.Mutation{
			{"external_ids", "delete", ovsdb.SetOf(keys)}, {"external_ids", "insert", ovsdb.Map(p.Port.IDs)},
		}, ovsdb.Is("name", p.Name)))
	}
	return ops
}

// Remove implements state.SwitchBackend. The switch is not waited for: the tap goes anyhow.
func (s *Switch) Remove(ctx context.Context, ports []state.SwitchRow) error {
	return s.talk(ctx, func(ctx context.Context, c *ovsdb.Conn) error {
		ops := []ovsdb.Op{ovsdb.Comment(comment("remove", ports, func(p state.SwitchRow) string { return p.Name }))}
		for _, p := range ports {
			ops = append(ops, s.removal(p)...)
		}
		ops = append(ops, ovsdb.Mutate("Open_vSwitch", []ovsdb.Mutation{{"next_cfg", "+=", 1}}))
		_, err := s.transact(ctx, c, 0, ops...)
		return err
	})
}

// removal takes a port off its bridge: the database forgets what nothing refers to, but for what is said of queues. A row is
// never another one later.
func (s *Switch) removal(p state.SwitchRow) []ovsdb.Op {
	row := ovsdb.UUID(p.Row)
	return []ovsdb.Op{
		ovsdb.Mutate("Bridge", []ovsdb.Mutation{{"ports", "delete", ovsdb.Set{row}}}, ovsdb.Includes("ports", row)),
		{Op: "delete", Table: "Port", Where: &[]ovsdb.Condition{ovsdb.Is("_uuid", row)}},
		s.queuesOff(p.Name),
	}
}

// comment says in the database's log whose transaction it was.
func comment[T any](what string, ports []T, name func(T) string) string {
	words := []string{"taproom:", what}
	for _, p := range ports {
		words = append(words, name(p))
	}
	return strings.Join(words, " ")
}

// refusal says which port the database refused.
func refusal(err error, ports []state.SwitchSetting, about []string) error {
	var no *ovsdb.Error
	if !errors.As(err, &no) {
		return err
	}
	name := ""
	if no.Op >= 0 && no.Op < len(about) {
		name = about[no.Op]
	}
	for _, p := range ports {
		switch {
		case p.Name == name && ovsdb.IsTimeout(err): // of the wait for its bridge
			return &state.NoBridgeError{Bridge: p.Port.Bridge}
		case ovsdb.IsConstraint(err) && strings.Contains(no.Details, `(`+p.Name+`)`): // taken since it was looked at
			return &state.ForeignError{Name: p.Name, Why: "is in the database of Open vSwitch already"}
		}
	}
	return fmt.Errorf("the database of Open vSwitch refuses a port: %w", err)
}
