package ovs

import (
	"context"
	"fmt"
	"strings"

	"taproom/internal/host/ovsdb"
	"taproom/internal/network/state"
)

// await waits until the switch has taken up what was next, and asks what it made of the ports: one that it cannot use has an
// error, and the number -1. Both are one request, so what is read is not older than what is waited for.
func (s *Switch) await(ctx context.Context, c *ovsdb.Conn, next int64, ports []state.SwitchSetting) error {
	ops := []ovsdb.Op{
		ovsdb.Wait("Open_vSwitch", "cur_cfg", s.Within, ovsdb.Condition{"cur_cfg", ">=", next}),
	}
	for _, p := range ports {
		ops = append(ops, ovsdb.Select("Interface", []string{"error", "ofport"}, ovsdb.Is("name", p.Name)))
	}
	results, err := s.transact(ctx, c, s.Within, ops...)
	if ovsdb.IsTimeout(err) {
		return fmt.Errorf("Open vSwitch has not taken up %s within %v: ovs-vswitchd hangs or does not run; restart it (systemctl restart openvswitch-switch)", names(ports), s.Within)
	}
	if err != nil {
		return err
	}
	for i, p := range ports {
		for _, row := range results[i+1].Rows {
			if err := trouble(row); err != nil {
				return fmt.Errorf("Open vSwitch cannot use port %s on bridge %s: %w", p.Name, p.Port.Bridge, err)
			}
		}
	}
	return nil
}

// trouble is what the switch says of an interface that it cannot use.
func trouble(row ovsdb.Row) error {
	why, err := row.Strings("error")
	if err != nil {
		return err
	}
	number, err := row.Ints("ofport")
	if err != nil {
		return err
	}
	switch {
	case len(why) > 0 && why[0] != "":
		return fmt.Errorf("%s", strings.TrimSpace(why[0]))
	case len(number) > 0 && number[0] < 0:
		return fmt.Errorf("it gave it no number; its log (/var/log/openvswitch/ovs-vswitchd.log) says why")
	}
	return nil
}

func names(ports []state.SwitchSetting) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = p.Name
	}
	if len(words) > 3 {
		words = append(words[:3], fmt.Sprintf("and %d more", len(words)-3))
	}
	return "port " + strings.Join(words, ", ")
}
