package state

import "fmt"

// UnboundError says that what a guest sends through a bridge of Open vSwitch cannot be bounded.
type UnboundError struct{ Port, Bridge string }

// Error implements error.
func (e *UnboundError) Error() string {
	return fmt.Sprintf("what a guest sends cannot be bounded on bridge %s of Open vSwitch: it has the userspace datapath (datapath_type=netdev), which takes frames from tap %s before the kernel's queues see them; take the outbound bandwidth off, or use a bridge with the kernel's datapath", e.Bridge, e.Port)
}

// checkBound refuses a limit that a switch would pass by. A guest that runs is not refused: its bridge has changed meanwhile.
func (d *differ) checkBound(name string) error {
	want := d.want.SwitchPorts[name]
	if want.Held || d.want.Shapes[name].Through == "" || !d.old.switchBridges[want.Bridge].Userspace {
		return nil
	}
	return &UnboundError{Port: name, Bridge: want.Bridge}
}
