package ovs

import (
	"strconv"

	"taproom/internal/host/ovsdb"
	"taproom/internal/network/state"
)

// Open vSwitch removes whatever queue it finds at a port, unless a row of its QoS table says what there is. Its own kind that
// keeps a limit, linux-htb, has a queue of a thousand packets, which are seconds at low rates; so the row says linux-noop, and
// the queue is the one that a guest's tap has on any bridge. Rows of that table are not forgotten with what refers to them.

const (
	portLabel = "taproom-port"
	noQueues  = "linux-noop"
)

// handsOff tells the switch to leave a port's queues alone; row are the columns that the port's row is to get.
func (s *Switch) handsOff(i int, p state.SwitchSetting, row map[string]any) []ovsdb.Op {
	name := ovsdb.Named("q" + strconv.Itoa(i))
	row["qos"] = name
	return []ovsdb.Op{
		s.queuesOff(p.Name),
		ovsdb.Insert("QoS", name, map[string]any{"type": noQueues, "external_ids": ovsdb.Map{groupLabel: s.group(), portLabel: p.Name}}),
	}
}

// queuesOff forgets what was said of the queues of a port of ours.
func (s *Switch) queuesOff(port string) ovsdb.Op {
	labels := ovsdb.Map{groupLabel: s.group(), portLabel: port}
	return ovsdb.Op{Op: "delete", Table: "QoS", Where: &[]ovsdb.Condition{ovsdb.Includes("external_ids", labels)}}
}
