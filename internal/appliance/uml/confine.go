package uml

import (
	"fmt"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
)

// LandlockABI is the version of Landlock that a guest's kernel is not run without: the first that keeps it from sending signals to
// processes outside. It may trace, open and kill, and where an ordinary user runs it, it is that user.
const LandlockABI = 6

// NotConfinedError says that the host's kernel has no Landlock, or too old a version. Nothing is left running.
type NotConfinedError struct {
	Have int    // the version; 0 for none
	Why  string // there is none
}

// Error implements error.
func (e *NotConfinedError) Error() string {
	have := "has version " + fmt.Sprint(e.Have)
	if e.Have == 0 {
		have = "has none (" + e.Why + ")"
	}
	return fmt.Sprintf("what keeps its guest from the host's files and processes is Landlock of version %d (Linux 6.12), and the host's kernel %s; launch the appliance in QEMU: another way than uml", LandlockABI, have)
}

// confined refuses what was started with less than it needs. Nothing but taproom's own kernel and initramfs has run by then.
func confined(r launch.Report) error {
	if r.Landlock >= LandlockABI {
		return nil
	}
	return &NotConfinedError{r.Landlock, r.NoLandlock}
}

// ruleset names all that a guest's kernel may open: itself, the initramfs, what the processor can do, and /dev/null. Its memory is a file
// without a name, disks come as descriptors, and nothing but its own program can be executed.
func ruleset(c Config) *host.Landlock {
	return &host.Landlock{
		ReadExec:      []string{c.Kernel},
		ReadOnly:      []string{c.Initrd, "/proc/cpuinfo"},
		ReadWrite:     []string{"/dev/null"},
		ScopeAbstract: true,
		ScopeSignals:  true,
	}
}
