package uml

import "taproom/internal/host"

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
