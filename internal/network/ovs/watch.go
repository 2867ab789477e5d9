package ovs

import (
	"context"

	"taproom/internal/host/ovsdb"
)

// Watch calls changed once it watches, and again whenever one of our ports was removed or changed, or a bridge came. It ends
// with changed's error, with the connection, or with ctx.
func (s *Switch) Watch(ctx context.Context, changed func(context.Context) error) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.monitor(ctx, c); err != nil {
		return err
	}
	for {
		if err := changed(ctx); err != nil {
			return err
		}
		for {
			t, err := c.Next(ctx)
			if err != nil {
				return err
			}
			if s.concerns(t) {
				break
			}
		}
	}
}

func (s *Switch) monitor(ctx context.Context, c *ovsdb.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Within, errSlow)
	defer cancel()
	return s.explain(ctx, 0, c.Monitor(ctx, map[string]ovsdb.Watch{
		"Port":   {Columns: []string{"name", "external_ids", "tag", "trunks", "vlan_mode"}, Select: ovsdb.Kinds{Delete: true, Modify: true}},
		"Bridge": {Columns: []string{"name"}, Select: ovsdb.Kinds{Insert: true}},
	}))
}

// concerns reports whether a change may be about a port of ours.
func (s *Switch) concerns(t ovsdb.Tables) bool {
	if len(t["Bridge"]) > 0 {
		return true
	}
	for _, c := range t["Port"] {
		for _, row := range []ovsdb.Row{c.Old, c.New} {
			if ids, err := row.Map("external_ids"); err == nil && ids[groupLabel] == s.group() {
				return true
			}
		}
	}
	return false
}

// Names returns the names of all ports, whoever's they are.
func (s *Switch) Names(ctx context.Context) (map[string]bool, error) {
	names := map[string]bool{}
	err := s.talk(ctx, func(ctx context.Context, c *ovsdb.Conn) error {
		results, err := s.transact(ctx, c, 0, ovsdb.Select("Interface", []string{"name"}))
		if err != nil {
			return err
		}
		for _, row := range results[0].Rows {
			name, err := row.String("name")
			if err != nil {
				return err
			}
			names[name] = true
		}
		return nil
	})
	return names, err
}
