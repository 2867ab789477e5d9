package proto

// Walk asks for everything below a folder.
type Walk struct {
	Path string
	// Depth is how many folders deep it goes, the first one counted; 0: as many as there are, up to 1024.
	Depth uint32
	// Stay says that nothing of other file systems is wanted, which are mounted below.
	Stay bool
}

// Code implements Message.
func (m *Walk) Code(c *Coder) { c.String(&m.Path); c.U32(&m.Depth); c.Bool(&m.Stay) }

// Step is one file that a walk has come by. Path begins below the folder where the walk began, without a slash.
type Step struct {
	Path   string
	Target string // where a symbolic link leads
	Stat   Stat
	// Problem is Linux's number of an error, 0 for none: the file could not be looked at, or what is in a folder, which has come before
	// without a problem, could not be read to its end.
	Problem uint32
}

// Code implements Message.
func (m *Step) Code(c *Coder) {
	c.String(&m.Path)
	c.String(&m.Target)
	m.Stat.Code(c)
	c.U32(&m.Problem)
}

// Glance asks what the file system of a device says of itself, without mounting it in the tree.
type Glance struct {
	Device     string // as in Mount
	Type       string // as in Mount
	Subvolumes bool   // of btrfs are wanted too
}

// Code implements Message.
func (m *Glance) Code(c *Coder) { c.String(&m.Device); c.String(&m.Type); c.Bool(&m.Subvolumes) }

// Subvolume is one of btrfs.
type Subvolume struct {
	ID   uint64
	Path string // from the top level
}

// Code implements Message.
func (m *Subvolume) Code(c *Coder) { c.U64(&m.ID); c.String(&m.Path) }

// Glanced is what a file system says of itself.
type Glanced struct {
	Statfs     Statfs
	Subvolumes []Subvolume
}

// Code implements Message.
func (m *Glanced) Code(c *Coder) {
	m.Statfs.Code(c)
	list(c, &m.Subvolumes, func(s *Subvolume) { s.Code(c) })
}
