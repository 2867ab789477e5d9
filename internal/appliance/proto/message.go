package proto

// Nothing is the message without fields.
type Nothing struct{}

// Code implements Message.
func (*Nothing) Code(*Coder) {}

// Failure is why a request failed. Errno is Linux's number, 0 where there is none.
type Failure struct {
	Errno uint32
	Text  string
}

// Code implements Message.
func (m *Failure) Code(c *Coder) { c.U32(&m.Errno); c.String(&m.Text) }

// Progress is how far a request is. Total is 0 where nobody knows it. Both are bytes.
type Progress struct{ Done, Total uint64 }

// Code implements Message.
func (m *Progress) Code(c *Coder) { c.U64(&m.Done); c.U64(&m.Total) }

// Credit is how many more bytes of a stream may be sent.
type Credit struct{ Bytes uint32 }

// Code implements Message.
func (m *Credit) Code(c *Coder) { c.U32(&m.Bytes) }

// Greeting makes an appliance differ from every other one of the same template, and sets its clock. What is left zero is left as
// it is.
type Greeting struct {
	UnixNano  int64  // the time
	Seed      []byte // for the kernel's random numbers; at most 512 bytes
	Hostname  string
	BootID    string // a UUID, for /proc/sys/kernel/random/boot_id; "": the kernel makes one, after the seed
	MachineID string // 32 hexadecimal digits, for /etc/machine-id of the tools
}

// Code implements Message.
func (m *Greeting) Code(c *Coder) {
	c.I64(&m.UnixNano)
	c.Bytes(&m.Seed)
	c.String(&m.Hostname)
	c.String(&m.BootID)
	c.String(&m.MachineID)
}

// Info is what an appliance says of itself. Times of the boot are nanoseconds since the kernel started.
type Info struct {
	Agent     string // version of the first process
	Kernel    string
	Hostname  string
	BootID    string
	Nonce     []byte // 16 bytes of the kernel's random numbers: no two appliances show the same
	UnixNano  int64
	InitNano  int64  // when the first process began
	ReadyNano int64  // when it had the host's port
	Memory    uint64 // bytes in all
	Free      uint64 // bytes
}

// Code implements Message.
func (m *Info) Code(c *Coder) {
	c.String(&m.Agent)
	c.String(&m.Kernel)
	c.String(&m.Hostname)
	c.String(&m.BootID)
	c.Bytes(&m.Nonce)
	c.I64(&m.UnixNano)
	c.I64(&m.InitNano)
	c.I64(&m.ReadyNano)
	c.U64(&m.Memory)
	c.U64(&m.Free)
}

// Mount asks for a file system to be mounted in the appliance's tree, at /sysroot for itself, at / for whoever asks.
type Mount struct {
	Device   string // a name below /dev, such as sda1, or "serial:" and the serial number of a disk, which is waited for
	At       string // where in the tree; what is not there is made where nothing is mounted yet
	Type     string // "": what is found on the device
	Options  string // the file system's own, separated by commas
	ReadOnly bool   // and no journal is replayed: the device is not written to
}

// Code implements Message.
func (m *Mount) Code(c *Coder) {
	c.String(&m.Device)
	c.String(&m.At)
	c.String(&m.Type)
	c.String(&m.Options)
	c.Bool(&m.ReadOnly)
}

// Mounted is one mount in the appliance's tree.
type Mounted struct {
	Device, At, Type, Options string
}

// Code implements Message.
func (m *Mounted) Code(c *Coder) {
	c.String(&m.Device)
	c.String(&m.At)
	c.String(&m.Type)
	c.String(&m.Options)
}

// Mounts is what is mounted, in the order in which it was.
type Mounts struct{ List []Mounted }

// Code implements Message.
func (m *Mounts) Code(c *Coder) { list(c, &m.List, func(e *Mounted) { e.Code(c) }) }
