package proto

// Probe asks for block devices.
type Probe struct {
	Contents bool // and what is on each: that reads from all of them
}

// Code implements Message.
func (m *Probe) Code(c *Coder) { c.Bool(&m.Contents) }

// Await names the disk that is waited for.
type Await struct{ Serial string }

// Code implements Message.
func (m *Await) Code(c *Coder) { c.String(&m.Serial) }

// Device is a block device of the appliance: a disk, a partition of one, or what was made of several.
type Device struct {
	Name     string // below /dev
	Serial   string // of a disk
	Parent   string // of a partition: the disk
	Mapped   string // its name below /dev/mapper, for what device-mapper made
	Number   uint32 // of a partition, from 1 on; 0: not a partition
	Start    int64  // of a partition on its disk, in bytes
	Size     int64  // bytes
	Sector   uint32 // bytes that are written at once
	ReadOnly bool
	PartName string // of a partition, in a GPT
	PartUUID string // of a partition; "" where the kernel does not say
	// What is on it, where that was asked for: a file system's type for mount(2), or blkid's name for something else.
	Type, UUID, Label string
	Unreadable        string // why it is not known what is on it
	// Below are the devices that it was made of, by md or device-mapper.
	Below []string
}

// Code implements Message.
func (m *Device) Code(c *Coder) {
	c.String(&m.Name)
	c.String(&m.Serial)
	c.String(&m.Parent)
	c.String(&m.Mapped)
	c.U32(&m.Number)
	c.I64(&m.Start)
	c.I64(&m.Size)
	c.U32(&m.Sector)
	c.Bool(&m.ReadOnly)
	c.String(&m.PartName)
	c.String(&m.PartUUID)
	c.String(&m.Type)
	c.String(&m.UUID)
	c.String(&m.Label)
	c.String(&m.Unreadable)
	c.Strings(&m.Below)
}

// Devices are block devices, disks before their partitions.
type Devices struct{ List []Device }

// Code implements Message.
func (m *Devices) Code(c *Coder) { list(c, &m.List, func(e *Device) { e.Code(c) }) }
