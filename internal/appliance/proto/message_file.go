package proto

// Read asks for what is in a regular file.
type Read struct {
	Path   string
	Offset int64
	Length int64 // bytes at most; negative: up to the end
}

// Code implements Message.
func (m *Read) Code(c *Coder) { c.String(&m.Path); c.I64(&m.Offset); c.I64(&m.Length) }

// Write says where what follows is written. Symbolic links are followed, within the tree.
type Write struct {
	Path      string
	Offset    int64
	Mode      uint32 // of a file that is made
	Create    bool   // where there is none
	Exclusive bool   // only where there is none
	Truncate  bool   // to nothing, first
	Append    bool   // at the end, instead of Offset
	Sync      bool   // it is on the disk when the request ends
}

// Code implements Message.
func (m *Write) Code(c *Coder) {
	c.String(&m.Path)
	c.I64(&m.Offset)
	c.U32(&m.Mode)
	c.Bool(&m.Create)
	c.Bool(&m.Exclusive)
	c.Bool(&m.Truncate)
	c.Bool(&m.Append)
	c.Bool(&m.Sync)
}

// Count is how many bytes there were.
type Count struct{ Bytes int64 }

// Code implements Message.
func (m *Count) Code(c *Coder) { c.I64(&m.Bytes) }

// Text is one string.
type Text struct{ Text string }

// Code implements Message.
func (m *Text) Code(c *Coder) { c.String(&m.Text) }

// Make asks for a folder.
type Make struct {
	Path string
	Mode uint32
	All  bool // and those above it; one that is there already is no error
}

// Code implements Message.
func (m *Make) Code(c *Coder) { c.String(&m.Path); c.U32(&m.Mode); c.Bool(&m.All) }

// Remove asks for a name to go.
type Remove struct {
	Path string
	All  bool // and everything below it, but not what is mounted there; a name that is not there is no error
}

// Code implements Message.
func (m *Remove) Code(c *Coder) { c.String(&m.Path); c.Bool(&m.All) }

// Pair names two files, or what a symbolic link shall say and where it shall be.
type Pair struct{ Old, New string }

// Code implements Message.
func (m *Pair) Code(c *Coder) { c.String(&m.Old); c.String(&m.New) }

// Chmod sets a file's permissions, 07777 at most. A symbolic link is followed.
type Chmod struct {
	Path string
	Mode uint32
}

// Code implements Message.
func (m *Chmod) Code(c *Coder) { c.String(&m.Path); c.U32(&m.Mode) }

// Chown sets whose a file is. A number of 1<<32 - 1 leaves that one as it is.
type Chown struct {
	Path     string
	UID, GID uint32
	Follow   bool
}

// Code implements Message.
func (m *Chown) Code(c *Coder) { c.String(&m.Path); c.U32(&m.UID); c.U32(&m.GID); c.Bool(&m.Follow) }

// Truncate sets a file's size, in bytes.
type Truncate struct {
	Path string
	Size int64
}

// Code implements Message.
func (m *Truncate) Code(c *Coder) { c.String(&m.Path); c.I64(&m.Size) }

// Times sets when a file was read and changed, in nanoseconds since 1970.
type Times struct {
	Path               string
	AccessNS, ModifyNS int64
	Follow             bool
}

// Code implements Message.
func (m *Times) Code(c *Coder) {
	c.String(&m.Path)
	c.I64(&m.AccessNS)
	c.I64(&m.ModifyNS)
	c.Bool(&m.Follow)
}

// Xattr names an extended attribute of a file, and what it shall be.
type Xattr struct {
	Path   string
	Name   string
	Value  []byte
	Follow bool
}

// Code implements Message.
func (m *Xattr) Code(c *Coder) {
	c.String(&m.Path)
	c.String(&m.Name)
	c.Bytes(&m.Value)
	c.Bool(&m.Follow)
}

// Value is what an attribute is.
type Value struct{ Value []byte }

// Code implements Message.
func (m *Value) Code(c *Coder) { c.Bytes(&m.Value) }

// Names are the names of attributes.
type Names struct{ List []string }

// Code implements Message.
func (m *Names) Code(c *Coder) { c.Strings(&m.List) }

// Copy names a raw disk of the appliance and a file in its tree. One goes into the other whole.
type Copy struct {
	Device string // as in Mount
	Path   string
	Size   int64  // of the file, in bytes: what a raw disk holds is rounded up to sectors
	Mode   uint32 // of a file that is made
	Sync   bool   // it is on the disk when the request ends
}

// Code implements Message.
func (m *Copy) Code(c *Coder) {
	c.String(&m.Device)
	c.String(&m.Path)
	c.I64(&m.Size)
	c.U32(&m.Mode)
	c.Bool(&m.Sync)
}

// Exit is how a program ended.
type Exit struct {
	Status uint32 // that it exited with
	Signal uint32 // that ended it; 0: it ended by itself
}

// Code implements Message.
func (m *Exit) Code(c *Coder) { c.U32(&m.Status); c.U32(&m.Signal) }
