package engine

import (
	"taproom/internal/engine/nwfilters"
	"taproom/internal/guest"
	"taproom/internal/qemu/rxfilter"
	"taproom/internal/spec"
)

// definition is what is kept on disk of a domain or network that outlives the machine's boot: enough to answer lists
// without parsing the document.
type definition struct {
	Name      string    `json:"name"`
	UUID      spec.UUID `json:"uuid"`
	Autostart bool      `json:"autostart,omitempty"`
	// AutostartOnce is of a domain that starts with the next boot of the host, and not again.
	AutostartOnce bool   `json:"autostart_once,omitempty"`
	MaxMemKiB     uint64 `json:"max_mem_kib,omitempty"`
	MemKiB        uint64 `json:"mem_kib,omitempty"`
	VCPUs         uint16 `json:"vcpus,omitempty"`
	MaxVCPUs      uint16 `json:"max_vcpus,omitempty"`
	Bridge        string `json:"bridge,omitempty"`
}

// phase is how far a guest got. A daemon that starts and finds a guest in phase starting takes it back, unless its
// processors already run.
type phase string

const (
	phaseStarting phase = "starting"
	phaseRunning  phase = "running"
)

// record is what is written down of a guest before anything is made for it, so that whoever reads it later finds all of
// it: names, numbers, places. It lives in the run directory and ends with the boot.
type record struct {
	Name     string       `json:"name"`
	UUID     spec.UUID    `json:"uuid"`
	ID       int32        `json:"id"`
	Phase    phase        `json:"phase"`
	Emulator string       `json:"emulator"`
	Accel    string       `json:"accel"`
	UID      uint32       `json:"uid"`
	Cgroup   string       `json:"cgroup"`
	Displays []display    `json:"displays,omitempty"` // of the document, in order
	NICs     int          `json:"nics"`               // of the document, with and without a port
	Sockets  []string     `json:"sockets,omitempty"`  // that QEMU listens on outside of its directory
	Ports    []port       `json:"ports,omitempty"`
	Access   []hostAccess `json:"access,omitempty"`
	CID      uint32       `json:"cid,omitempty"` // of its vsock
	// Adjustment is how far the guest set its clock from UTC, in seconds; "" as long as it did not.
	Adjustment string `json:"adjustment,omitempty"`
	// MemoryDir is the folder of the file that the guest's memory is, "" when it is none.
	MemoryDir string `json:"memory_dir,omitempty"`
	// Companions are the devices that a program beside QEMU serves, each with a pid file in the guest's directory.
	Companions []string `json:"companions,omitempty"`
	// ForgetTPM says that the state of its TPM goes with the guest, once there is no definition.
	ForgetTPM bool              `json:"forget_tpm,omitempty"`
	PID       int               `json:"pid,omitempty"`
	PIDStart  uint64            `json:"pid_start,omitempty"`
	PTYs      map[string]string `json:"ptys,omitempty"` // by alias
	Pins      guest.Pins        `json:"pins"`
	Paused    bool              `json:"paused,omitempty"` // started with VIR_DOMAIN_START_PAUSED
	Tainted   []string          `json:"tainted,omitempty"`
	// State and Reason are what the daemon last did to its processors: why a guest stands still, QEMU does not know.
	State  int32 `json:"state,omitempty"`
	Reason int32 `json:"reason,omitempty"`
	// Rebooting says that the power button was pressed so that the guest boots again.
	Rebooting bool `json:"rebooting,omitempty"`
	// Saving is set while the guest's state is written to a file.
	Saving *saving `json:"saving,omitempty"`
	// Incoming says that it did not boot: its state came from elsewhere.
	Incoming bool `json:"incoming,omitempty"`
	// Image is the domain's own image that it was started from, until that is removed.
	Image string `json:"image,omitempty"`
	// Autodestroy says that the guest ends with the connection of the client that started it.
	Autodestroy bool `json:"autodestroy,omitempty"`
	// AgentTimeout is how long the guest's agent may take to answer (virDomainAgentSetResponseTimeout).
	AgentTimeout *int32 `json:"agent_timeout,omitempty"`
}

// port is one NIC of a guest on a link of the host.
type port struct {
	NIC     int    `json:"nic"` // index among the document's interfaces
	Name    string `json:"name"`
	MAC     string `json:"mac"`               // the host side's
	Guest   string `json:"guest,omitempty"`   // the guest's address
	Managed bool   `json:"managed,omitempty"` // its bridge is told what is behind it (macTableManager='libvirt')
	Bridge  string `json:"bridge"`
	Network string `json:"network,omitempty"` // name of the network, "" when plugged into a bridge
	MTU     int    `json:"mtu,omitempty"`
	ID      string `json:"id"`               // libvirt's port UUID
	Queues  int    `json:"queues,omitempty"` // 0 is 1
	// Template is the document's, which the name was made from; "" for ours.
	Template string `json:"template,omitempty"`
	// Own says that the name is the document's, and Free that what the tap is plugged into is not ours to say.
	Own      bool   `json:"own,omitempty"`
	Free     bool   `json:"free,omitempty"`
	Isolated bool   `json:"isolated,omitempty"`
	Coalesce uint32 `json:"coalesce,omitempty"` // frames
	// Trust says that the guest is believed what it says of the frames that it wants (trustGuestRxFilters), and Rx is what it
	// said last; nil before it did.
	Trust bool             `json:"trust,omitempty"`
	Rx    *rxfilter.Filter `json:"rx,omitempty"`
	// Share is what the NIC has on its network, where that is more than its document says.
	Share *spec.NICShare `json:"share,omitempty"`
	// Shape is how the NIC's traffic is bounded; nil is not at all.
	Shape *portShape `json:"shape,omitempty"`
	// Filter is what the NIC's frames are filtered by; nil is nothing.
	Filter *nwfilters.Use `json:"filter,omitempty"`
	// Direct is where a macvtap lies; nil for a tap.
	Direct *directPort `json:"direct,omitempty"`
	// Switch is what it is on a bridge of Open vSwitch; nil on a Linux bridge.
	Switch *switchPort `json:"switch,omitempty"`
}

// activeNetwork is what is written down of a network that should be up.
type activeNetwork struct {
	Name       string    `json:"name"`
	UUID       spec.UUID `json:"uuid"`
	Bridge     string    `json:"bridge"`
	Persistent bool      `json:"persistent"`
}
