package proto

// Run asks for a program of the tools. Paths are those of the tools; the appliance's tree is /sysroot there.
type Run struct {
	Args []string // the program first: a path, or a name that is looked for where programs are
	Env  []string // beside PATH, and instead of what is there by default
	Dir  string   // where it runs; "": /
	// Tree is a folder of the appliance's tree that it runs in instead of Dir, whatever symbolic links lead there; "": Dir counts.
	Tree string
	// Inside says that the program is one of the tree, which is all that it sees: of the image, and not of the tools. The kernel's own
	// file systems are mounted in the tree first, where it has folders for them.
	Inside bool
	// Terminal gives it a terminal instead of three pipes: what it prints is all in StreamOut.
	Terminal bool
	Size     TerminalSize
}

// Code implements Message.
func (m *Run) Code(c *Coder) {
	c.Strings(&m.Args)
	c.Strings(&m.Env)
	c.String(&m.Dir)
	c.String(&m.Tree)
	c.Bool(&m.Inside)
	c.Bool(&m.Terminal)
	m.Size.Code(c)
}

// TerminalSize is how large a program's terminal is, in characters. Session is a number of the host's choice, by which a terminal is found
// again when its window changes.
type TerminalSize struct{ Session, Rows, Columns uint32 }

// Code implements Message.
func (m *TerminalSize) Code(c *Coder) { c.U32(&m.Session); c.U32(&m.Rows); c.U32(&m.Columns) }
