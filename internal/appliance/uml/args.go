package uml

import (
	"fmt"
	"strings"
)

// Inherited are the numbers of the descriptors that a guest's kernel has. Disks that are plugged in have those from FirstDiskFD on.
type Inherited struct {
	Line  int // a stream socket to the agent
	Plug  int // a stream socket for Disk.Command
	Tools int // the disk of tools, raw; 0 for none
}

// FirstDiskFD is the descriptor of the first disk. Each has two: its file, and what lies below that.
const FirstDiskFD = 200

// MostDisks is how many disks a guest has at most, that of the tools included: the kernel's MAX_DEV.
const MostDisks = 16

// Config is one guest.
type Config struct {
	Kernel string // the program
	Initrd string
	Memory uint64 // MiB
	Quiet  bool   // the kernel prints only what is wrong
	FDs    Inherited
}

// Args returns the command line with argv[0]. What is not named is switched off: no terminal, no serial line, no network.
func (c Config) Args() []string {
	args := []string{
		c.Kernel, fmt.Sprintf("mem=%dM", c.Memory), "initrd=" + c.Initrd,
		"con=null", "con0=null,fd:1", // the first process writes where the kernel does
		"uml_dir=/", "umid=appliance", // where it would keep its number if it might; the kernel crashes when it has no folder to try
		"noreboot", "panic=-1", // a reset is the end
		fmt.Sprintf("appliance_line=%d", c.FDs.Line), fmt.Sprintf("appliance_plug=%d", c.FDs.Plug),
	}
	if c.FDs.Tools != 0 {
		// r: read only; d: no overlay; c: many have it, and its lock would keep every QEMU from the file.
		args = append(args, fmt.Sprintf("ubd0rdc=/proc/self/fd/%d,,%s", c.FDs.Tools, ToolsSerial))
	}
	if c.Quiet {
		args = append(args, "quiet")
	}
	return args
}

// ToolsSerial is the serial number of the disk of tools.
const ToolsSerial = "taproom-tools"

// Disk is one to be plugged in.
type Disk struct {
	Unit     int // from 1 on; 0 is the tools'
	Serial   string
	ReadOnly bool
	// Overlay says that two files come with it: one that WriteOverlay made, for what the guest writes, and the raw image below.
	Overlay bool
}

// Command is what the guest's kernel is sent with the disk's descriptors, those of an overlay first.
func (d Disk) Command() string {
	first := FirstDiskFD + 2*d.Unit
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", first, d.unit())
	if d.Overlay { // c: what is only read is not locked, or no QEMU could read it meanwhile
		fmt.Fprintf(&b, "c=/proc/self/fd/%d,/proc/self/fd/%d,%s", first, first+1, d.Serial)
		return b.String()
	}
	if d.ReadOnly {
		b.WriteString("rc")
	}
	// Without "d" the kernel would look for the header of an overlay, and take from it which file lies below.
	fmt.Fprintf(&b, "d=/proc/self/fd/%d,,%s", first, d.Serial)
	return b.String()
}

// Removal is what it is sent to take the disk away.
func (d Disk) Removal() string { return fmt.Sprintf("%d -%s", FirstDiskFD+2*d.Unit, d.unit()) }

func (d Disk) unit() string { return string(rune('a' + d.Unit)) }
