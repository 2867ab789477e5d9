package qemu

import (
	"fmt"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Args returns the arguments (argv without argv[0]) and the names of the files that they need, in order: the first must
// be descriptor firstFD in QEMU, the next one more, and so on. A file that is named twice is passed once.
func (c *Config) Args(firstFD int) (argv, files []string, err error) {
	b := &builder{first: firstFD, numbers: map[string]int{}}
	c.head(b)
	c.machine(b)
	c.boot(b)
	for _, o := range c.Objects {
		b.json("-object", o)
	}
	for _, s := range c.FDSets {
		b.fdset(s)
	}
	for _, d := range c.Chardevs {
		b.chardev(d)
	}
	if c.QMP != "" {
		b.chardev(monitorChardev(c.QMP))
		b.option("-mon", Option{Props: Props{{"chardev", "qmp"}, {"mode", "control"}}})
	}
	for _, d := range c.Blockdevs {
		b.json("-blockdev", d)
	}
	for _, d := range c.Netdevs {
		b.json("-netdev", d)
	}
	for _, d := range c.Devices {
		b.json("-device", d)
	}
	if c.VNC != nil {
		b.option("-vnc", *c.VNC)
	} else {
		b.add("-display", "none")
	}
	for _, f := range c.Flags {
		if f.Name == "-bios" { // taken whole, like a kernel
			b.add(f.Name, f.Value.Head)
			continue
		}
		b.option(f.Name, f.Value)
	}
	b.add(c.Extra...)
	if b.err != nil {
		return nil, nil, fmt.Errorf("command line of guest %q: %w", c.Name, b.err)
	}
	return b.argv, b.files, nil
}

// head is what every guest gets. Where it is not disposable, -S and -no-shutdown leave it to the owner when the guest runs and when it is over.
func (c *Config) head(b *builder) {
	if c.Name != "" {
		b.option("-name", Option{Props: Props{{"guest", c.Name}, {"debug-threads", true}}})
	}
	if c.Disposable {
		b.add("-no-reboot")
	} else {
		b.add("-S", "-no-shutdown")
	}
	b.add("-nodefaults", "-no-user-config")
	if c.Incoming {
		b.add("-incoming", "defer")
	}
	if !c.NoSandbox {
		b.add("-sandbox", sandbox)
	}
	b.add("-msg", "timestamp=on")
	if c.UUID != "" {
		b.add("-uuid", c.UUID)
	}
	for _, dir := range c.Firmware {
		b.add("-L", dir)
	}
}

func (c *Config) machine(b *builder) {
	b.some("-machine", c.Machine)
	b.some("-accel", c.Accel)
	b.some("-cpu", c.CPU)
	b.some("-smp", c.SMP)
	if c.MemoryMB > 0 {
		b.option("-m", Option{Props: Props{{"size", strconv.FormatUint(c.MemoryMB, 10) + "M"}}})
	} else {
		b.some("-m", c.Memory)
	}
}

func (c *Config) boot(b *builder) {
	for _, f := range []struct{ name, value string }{{"-kernel", c.Kernel}, {"-initrd", c.Initrd}, {"-append", c.Append}} {
		if f.value != "" {
			b.add(f.name, f.value) // taken whole: no commas to escape
		}
	}
}

// builder collects arguments and descriptors. The first error sticks.
type builder struct {
	argv    []string
	files   []string
	numbers map[string]int
	first   int
	err     error
}

func (b *builder) add(args ...string) { b.argv = append(b.argv, args...) }

// number gives a file its descriptor.
func (b *builder) number(name string) (int, error) {
	if name == "" {
		return 0, fmt.Errorf("a descriptor without a name")
	}
	n, ok := b.numbers[name]
	if !ok {
		n = b.first + len(b.files)
		b.numbers[name] = n
		b.files = append(b.files, name)
	}
	return n, nil
}

func (b *builder) fail(flag string, err error) {
	if b.err == nil && err != nil {
		b.err = fmt.Errorf("%s: %w", flag, err)
	}
}

func (b *builder) json(flag string, p Props) {
	j, err := p.appendJSON(nil, b.number)
	b.fail(flag, err)
	b.add(flag, string(j))
}

func (b *builder) option(flag string, o Option) {
	s, err := o.text(b.number)
	b.fail(flag, err)
	b.add(flag, s)
}

// some is option unless there is nothing to say.
func (b *builder) some(flag string, o Option) {
	if o.Head != "" || len(o.Props) > 0 {
		b.option(flag, o)
	}
}

func (b *builder) chardev(d Chardev) {
	b.option("-chardev", Option{Head: d.Backend, Props: append(Props{{"id", d.ID}}, d.Props...)})
}

func (b *builder) fdset(s FDSet) {
	for _, name := range []string{s.ReadOnly, s.ReadWrite} {
		if name != "" {
			b.option("-add-fd", Option{Props: Props{{"set", s.ID}, {"fd", FD(name)}, {"opaque", name}}})
		}
	}
}
