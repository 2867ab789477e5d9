package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// SwitchPort is a tap's port on a bridge of Open vSwitch: rows of its database, by the tap's name.
type SwitchPort struct {
	Owner  string // UUID of the guest
	Bridge string
	VLAN   *VLAN // nil is any, and leaves it to whoever else sets it
	// IDs are what its interface is known by to those who control the switch (external_ids). Others beside these are
	// theirs, and stay.
	IDs map[string]string
	// Bounded says that the kernel's queues bound what passes the tap: the switch, which takes every queue of a port for its
	// own and removes what it does not know, is told to leave them alone. Once told it stays so.
	Bounded bool
	// Held says that a guest that runs has the tap: while there is no such bridge, there is no port. Only desired.
	Held bool
}

// VLAN is what VLANs a port carries, in the columns of Open vSwitch's Port table. The zero value is a port without.
type VLAN struct {
	Tag    []int  // one or none: of an access port, or the native one
	Trunks []int  // sorted; none with a mode of trunking means all
	Mode   string // native-tagged, native-untagged; "" follows from the others
}

// equal reports whether two say the same. Order and nil do not matter.
func (v *VLAN) equal(o *VLAN) bool {
	return slices.Equal(v.Tag, o.Tag) && slices.Equal(v.Trunks, o.Trunks) && v.Mode == o.Mode
}

func (v *VLAN) clone() *VLAN {
	if v == nil {
		return nil
	}
	return &VLAN{Tag: slices.Clone(v.Tag), Trunks: slices.Clone(v.Trunks), Mode: v.Mode}
}

func (p SwitchPort) clone() SwitchPort {
	p.VLAN, p.IDs = p.VLAN.clone(), maps.Clone(p.IDs)
	return p
}

func cloneSwitchPorts(m map[string]SwitchPort) map[string]SwitchPort {
	m = maps.Clone(m)
	for name, p := range m {
		m[name] = p.clone()
	}
	return m
}

// SwitchScope is what is looked at in the database.
type SwitchScope struct {
	All     bool     // every port of ours
	Ports   []string // by name, whoever's they are
	Bridges []string // whether they exist
}

// SwitchView is what was found.
type SwitchView struct {
	Ports   map[string]SwitchPort
	Rows    map[string]string       // of Ports: the row of each in the database, which no later one ever has
	Foreign map[string]string       // ports of the scope that are not ours: what they are
	Bridges map[string]SwitchBridge // those of the scope that exist
}

// SwitchBridge is a bridge of Open vSwitch.
type SwitchBridge struct {
	// Userspace says that the switch moves its frames itself (datapath_type=netdev), and not the kernel. It takes them from a
	// tap as the guest wrote them: a checksum that the guest left to the other side is never finished. So such a tap has no
	// virtio-net header, without which a guest leaves nothing to anybody. And the host's stack gets each frame too.
	Userspace bool
}

// SwitchRow is a port that was seen.
type SwitchRow struct{ Name, Bridge, Row string }

// SwitchSetting is a port as it should be: made, changed, or made in the place of another one.
type SwitchSetting struct {
	Name string
	Row  string     // that is changed; "" makes one
	Old  *SwitchRow // that goes in the same transaction
	Port SwitchPort // what is to be set: nil and missing stay as they are
}

// SwitchBackend is the database of Open vSwitch.
type SwitchBackend interface {
	// Observe looks at what the scope names.
	Observe(ctx context.Context, s SwitchScope) (SwitchView, error)
	// Set makes and changes ports in one transaction, all or none, and returns when the switch has taken them up. A port
	// that the switch cannot use is an error. After an error it is not known what happened: observe again.
	Set(ctx context.Context, ports []SwitchSetting) error
	// Remove removes ports in one transaction. Those that are gone are no error.
	Remove(ctx context.Context, ports []SwitchRow) error
	// Labels are what a port's row carries (external_ids), so that it is known as ours.
	Labels(owner string) map[string]string
}

// NoBridgeError says that Open vSwitch has no bridge of that name.
type NoBridgeError struct{ Bridge string }

// Error implements error.
func (e *NoBridgeError) Error() string {
	return fmt.Sprintf("Open vSwitch has no bridge %s; create it (ovs-vsctl add-br %s), or name another one", e.Bridge, e.Bridge)
}

// switches looks at Open vSwitch.
func (o *Observed) switches(ctx context.Context, e *Env, s Scope) error {
	if e.Switch == nil || !s.AllSwitchPorts && len(s.SwitchPorts) == 0 {
		return nil
	}
	v, err := e.Switch.Observe(ctx, SwitchScope{All: s.AllSwitchPorts, Ports: s.SwitchPorts, Bridges: s.SwitchBridges})
	if err != nil {
		return err
	}
	o.SwitchPorts, o.switchRows, o.switchBridges = v.Ports, v.Rows, v.Bridges
	maps.Copy(o.Foreign, v.Foreign)
	o.AllSwitchPorts = s.AllSwitchPorts
	return nil
}

// checkSwitch refuses names that are not ours, and bridges that do not exist.
func (d *differ) checkSwitch() error {
	if d.env.Switch == nil {
		return nil
	}
	for _, name := range sortedKeys(d.want.SwitchPorts) {
		want, have := d.want.SwitchPorts[name], d.old.SwitchPorts[name]
		if why, ok := d.old.Foreign[name]; ok {
			return &ForeignError{Name: name, Why: why}
		}
		if have.Owner != "" && have.Owner != want.Owner && !d.old.AllSwitchPorts {
			return &ForeignError{Name: name, Why: fmt.Sprintf("is a port of Open vSwitch of %s, which may be in use", have.Owner)}
		}
		if !want.Held && !d.old.HasSwitchBridge(want.Bridge) {
			return &NoBridgeError{Bridge: want.Bridge}
		}
		if err := d.checkBound(name); err != nil {
			return err
		}
	}
	return nil
}

// switchRemovals are the ports that nobody wants. They go before their taps, so that the switch never looks for one.
func (d *differ) switchRemovals() Plan {
	var rows []SwitchRow
	for _, name := range sortedKeys(d.old.SwitchPorts) {
		if _, wanted := d.want.SwitchPorts[name]; !wanted {
			rows = append(rows, d.switchRow(name))
		}
	}
	if d.env.Switch == nil || len(rows) == 0 {
		return nil
	}
	return Plan{RemoveSwitchPorts{Ports: rows}}
}

func (d *differ) switchRow(name string) SwitchRow {
	return SwitchRow{Name: name, Bridge: d.old.SwitchPorts[name].Bridge, Row: d.old.switchRows[name]}
}

// switchPorts makes and changes ports, all in one transaction. They come after their taps.
func (d *differ) switchPorts() Plan {
	if d.env.Switch == nil {
		return nil
	}
	s := SetSwitchPorts{labels: d.env.Switch.Labels}
	for _, name := range sortedKeys(d.want.SwitchPorts) {
		want := d.want.SwitchPorts[name]
		have, there := d.old.SwitchPorts[name]
		switch {
		case !d.old.HasSwitchBridge(want.Bridge): // held
		case !there:
			s.Ports = append(s.Ports, SwitchSetting{Name: name, Port: want})
		case have.Owner != want.Owner || have.Bridge != want.Bridge || d.made[name]: // the tap is another one by then
			row := d.switchRow(name)
			s.Ports = append(s.Ports, SwitchSetting{Name: name, Old: &row, Port: want})
		default:
			if change, same := want.since(have); !same {
				s.Ports = append(s.Ports, SwitchSetting{Name: name, Row: d.old.switchRows[name], Port: change})
			}
		}
	}
	if len(s.Ports) == 0 {
		return nil
	}
	return Plan{s}
}

// since is what of a port has to be set because it is not so yet.
func (p SwitchPort) since(have SwitchPort) (change SwitchPort, same bool) {
	change = SwitchPort{Owner: p.Owner, Bridge: p.Bridge}
	if p.VLAN != nil && (have.VLAN == nil || !p.VLAN.equal(have.VLAN)) {
		change.VLAN = p.VLAN
	}
	for k, v := range p.IDs {
		if have.IDs[k] != v {
			if change.IDs == nil {
				change.IDs = map[string]string{}
			}
			change.IDs[k] = v
		}
	}
	change.Bounded = p.Bounded && !have.Bounded
	return change, change.VLAN == nil && change.IDs == nil && !change.Bounded
}

// columns are the values of a Port row's columns as ovs-vsctl takes them. Of a port that exists, all that are not set are
// cleared.
func (v *VLAN) columns(exists bool) (set, clear []string) {
	if v == nil {
		return nil, nil
	}
	for _, c := range []struct{ name, value string }{{"tag", numbers(v.Tag)}, {"trunks", numbers(v.Trunks)}, {"vlan_mode", v.Mode}} {
		switch {
		case c.value != "":
			set = append(set, c.name+"="+c.value)
		case exists:
			clear = append(clear, c.name)
		}
	}
	return set, clear
}

func numbers(n []int) string {
	s := ""
	for i, v := range n {
		if i > 0 {
			s += ","
		}
		s += strconv.Itoa(v)
	}
	return s
}

// SwitchOf is what of it belongs to an owner, beside what has a name that the owner's ports in want should have.
func (o Observed) SwitchOf(owner string, want State) Observed {
	part := Observed{Index: o.Index, Foreign: o.Foreign, AllSwitchPorts: o.AllSwitchPorts, switchRows: o.switchRows, switchBridges: o.switchBridges}
	part.SwitchPorts = map[string]SwitchPort{}
	for name, p := range o.SwitchPorts {
		if p.Owner == owner || want.SwitchPorts[name].Owner == owner {
			part.SwitchPorts[name] = p
		}
	}
	return part
}

// HasSwitchBridge reports whether a bridge of Open vSwitch that was asked for exists.
func (o Observed) HasSwitchBridge(name string) bool {
	_, there := o.switchBridges[name]
	return there
}

// header reports whether the frames of a new tap carry a virtio-net header, and go to the kernel alone.
func (d *differ) header(name string) bool {
	return !d.old.switchBridges[d.want.SwitchPorts[name].Bridge].Userspace
}

// SwitchOf is the ports of Open vSwitch of an owner.
func (s State) SwitchOf(owner string) State {
	part := State{SwitchPorts: map[string]SwitchPort{}}
	for name, p := range s.SwitchPorts {
		if p.Owner == owner {
			part.SwitchPorts[name] = p
		}
	}
	return part
}
