package wire

import "encoding/json"

// PortName is the virtio-serial port on which the agent answers.
const PortName = "org.taproom.agent.0"

// Op names what the host asks for.
type Op string

// What a host can ask for. There is no operation that runs a program: the guest has none, and an agent that offers it
// would make every host process that can open the port root in the guest.
const (
	OpHello      Op = "hello"
	OpPing       Op = "ping"
	OpNetwork    Op = "network"
	OpTraffic    Op = "traffic"
	OpListen     Op = "listen"
	OpHear       Op = "hear"
	OpBlocks     Op = "blocks"
	OpBlockWrite Op = "block-write"
	OpBlockRead  Op = "block-read"
	OpGreet      Op = "greet"
	OpSystem     Op = "system"
	OpShare      Op = "share"
	OpPowerOff   Op = "poweroff"
	OpReboot     Op = "reboot"
	OpCrash      Op = "crash"
)

// Request is a frame from the host.
type Request struct {
	ID   uint64          `json:"id"`
	Op   Op              `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Response is a frame from the guest. Error is set or Result is.
type Response struct {
	ID     uint64          `json:"id"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// HelloWait asks the guest to answer only when it has finished booting: all devices have their drivers.
type HelloWait struct {
	Seconds int `json:"seconds"` // but not longer than this
}

// Hello tells who answers and how the boot went. Times are seconds since the kernel started.
type Hello struct {
	Version string   `json:"version"`
	Kernel  string   `json:"kernel"`
	BootID  string   `json:"boot_id"`
	Modules []string `json:"modules"`
	Steps   []Step   `json:"steps"`
	NICs    []NIC    `json:"nics"`
	Ready   bool     `json:"ready"` // all devices that were there at boot have their drivers
	Now     float64  `json:"now"`
}

// Step is one part of the boot, and when it was done.
type Step struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// NetworkWait asks the guest to answer only when it has leases.
type NetworkWait struct {
	Leases  int `json:"leases"`  // at least so many, and one for every link with a carrier
	Seconds int `json:"seconds"` // but not longer than this
}

// Network is what the guest's network looks like from inside.
type Network struct {
	NICs   []NIC    `json:"nics"`
	Routes []Route  `json:"routes"`
	DNS    []string `json:"dns"`
}

// NIC is a network link of the guest.
type NIC struct {
	Name      string   `json:"name"`
	MAC       string   `json:"mac"`
	Driver    string   `json:"driver,omitempty"`
	Vectors   int      `json:"vectors,omitempty"` // of MSI or MSI-X; 0: it has a line, which it may share
	MTU       int      `json:"mtu"`
	Up        bool     `json:"up"`
	Carrier   bool     `json:"carrier"`
	Addresses []string `json:"addresses"`
	Lease     *Lease   `json:"lease,omitempty"`
}

// Lease is what a DHCP server gave to a link.
type Lease struct {
	Address string   `json:"address"`
	Server  string   `json:"server"`
	Routers []string `json:"routers,omitempty"`
	DNS     []string `json:"dns,omitempty"`
	Seconds uint32   `json:"seconds"`
	BoundAt float64  `json:"bound_at"`
	Renewed int      `json:"renewed"`
}

// Route is an IPv4 route of the main table.
type Route struct {
	Destination string `json:"destination"`
	Gateway     string `json:"gateway,omitempty"`
	Link        string `json:"link"`
}

// Traffic asks the guest to send to an echo server and to compare what comes back.
type Traffic struct {
	Protocol string `json:"protocol"`          // tcp or udp
	Address  string `json:"address"`           // host:port
	Link     string `json:"link,omitempty"`    // send through this link
	Bytes    int64  `json:"bytes,omitempty"`   // tcp: how much to send
	Packets  int    `json:"packets,omitempty"` // udp: how many
	Size     int    `json:"size,omitempty"`    // udp: bytes in each; tcp: bytes in a write
	OneWay   bool   `json:"one_way,omitempty"` // tcp: the server keeps what it gets and closes
	Seconds  int    `json:"seconds,omitempty"` // give up after
}

// TrafficResult is what a traffic test measured.
type TrafficResult struct {
	Sent           int64   `json:"sent"`     // bytes
	Received       int64   `json:"received"` // bytes that came back unchanged
	PacketsSent    int     `json:"packets_sent,omitempty"`
	PacketsBack    int     `json:"packets_back,omitempty"`
	Lost           int     `json:"lost,omitempty"`
	Corrupt        int     `json:"corrupt,omitempty"`
	Seconds        float64 `json:"seconds"`
	ConnectSeconds float64 `json:"connect_seconds,omitempty"`
	Mbits          float64 `json:"mbits"` // what came back, or what was sent one way
	RTTMin         float64 `json:"rtt_min,omitempty"`
	RTTMedian      float64 `json:"rtt_median,omitempty"`
	RTTMax         float64 `json:"rtt_max,omitempty"`
}

// Listen asks the guest to echo on a port until it is powered off.
type Listen struct {
	Protocol string `json:"protocol"`
	Address  string `json:"address,omitempty"`
	Link     string `json:"link,omitempty"` // what comes by this link alone, and back by it
	Port     int    `json:"port"`           // 0: any
}

// Listening tells where the guest echoes.
type Listening struct {
	Port int `json:"port"`
}

// Hear asks the guest for frames that a NIC of its machine may not have had to carry before.
type Hear struct {
	Link      string   `json:"link"`
	MAC       string   `json:"mac,omitempty"`       // the link's own address from now on
	Addresses []string `json:"addresses,omitempty"` // that it takes frames for as well, of groups and of machines
	Every     *bool    `json:"every,omitempty"`     // whether it takes every group's
}

// Block is a disk of the guest.
type Block struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	Serial   string `json:"serial,omitempty"`
	Driver   string `json:"driver,omitempty"`
	ReadOnly bool   `json:"read_only"`
	CDROM    bool   `json:"cdrom"`
	SHA256   string `json:"sha256,omitempty"` // of the first 4096 bytes, or of all when there are fewer
	Error    string `json:"error,omitempty"`  // why there is no hash
}

// BlockTest names a part of a disk and the pattern on it.
type BlockTest struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Seed   uint64 `json:"seed"`
}

// BlockTestResult tells whether the pattern was there.
type BlockTestResult struct {
	SHA256  string  `json:"sha256"`
	Match   bool    `json:"match"`
	Seconds float64 `json:"seconds"`
}

// Greet makes a guest that was restored from a template differ from its siblings, and sets its clock.
type Greet struct {
	UnixNano int64  `json:"unix_nano"`
	Seed     []byte `json:"seed"`
}

// System is what the guest sees of its machine.
type System struct {
	CPUs        int    `json:"cpus"`
	MemoryKiB   uint64 `json:"memory_kib"`
	FreeKiB     uint64 `json:"free_kib"`
	CommandLine string `json:"command_line"`
	Vendor      string `json:"vendor,omitempty"`
	Product     string `json:"product,omitempty"`
	UUID        string `json:"uuid,omitempty"`
	TPM         string `json:"tpm,omitempty"` // major version of the first TPM: "2"
	UnixNano    int64  `json:"unix_nano"`
	Entropy     string `json:"entropy"` // 16 bytes from the kernel: two guests never show the same
}
