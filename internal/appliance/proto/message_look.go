package proto

// Path names a file in the appliance's tree. Symbolic links are followed within the tree, the last one only where Follow says so.
type Path struct {
	Path   string
	Follow bool
}

// Code implements Message.
func (m *Path) Code(c *Coder) { c.String(&m.Path); c.Bool(&m.Follow) }

// Stat describes a file as lstat(2) does.
type Stat struct {
	Mode      uint32 // type and permissions, as st_mode
	UID, GID  uint32
	Links     uint32
	Size      int64
	Blocks    int64 // of 512 bytes
	Inode     uint64
	Device    uint64 // it lies on
	Rdev      uint64 // it is, for a device node
	AccessNS  int64  // since 1970
	ModifyNS  int64
	ChangeNS  int64
	BlockSize uint32
}

// Code implements Message.
func (m *Stat) Code(c *Coder) {
	c.U32(&m.Mode)
	c.U32(&m.UID)
	c.U32(&m.GID)
	c.U32(&m.Links)
	c.I64(&m.Size)
	c.I64(&m.Blocks)
	c.U64(&m.Inode)
	c.U64(&m.Device)
	c.U64(&m.Rdev)
	c.I64(&m.AccessNS)
	c.I64(&m.ModifyNS)
	c.I64(&m.ChangeNS)
	c.U32(&m.BlockSize)
}

// Entry is one name in a folder. Target is where a symbolic link leads.
type Entry struct {
	Name   string
	Target string
	Stat   Stat
}

// Code implements Message.
func (m *Entry) Code(c *Coder) { c.String(&m.Name); c.String(&m.Target); m.Stat.Code(c) }

// Statfs is how full a file system is. Blocks are BlockSize bytes long.
type Statfs struct {
	Type      int64 // its magic number
	BlockSize int64
	Blocks    uint64
	Free      uint64
	Available uint64 // to who is not root
	Files     uint64
	FilesFree uint64
	NameMax   int64
}

// Code implements Message.
func (m *Statfs) Code(c *Coder) {
	c.I64(&m.Type)
	c.I64(&m.BlockSize)
	c.U64(&m.Blocks)
	c.U64(&m.Free)
	c.U64(&m.Available)
	c.U64(&m.Files)
	c.U64(&m.FilesFree)
	c.I64(&m.NameMax)
}
