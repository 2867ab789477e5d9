package host

// readXState asks the processor whether the kernel uses XSAVE, and for the size of what it saves (leaf 0xD of CPUID).
func readXState() (osxsave bool, size uint32)

// ExtendedState is how many bytes the processor's extended registers take (XSAVE area, with all that the kernel has enabled); 0 where
// there is no such area.
func ExtendedState() int {
	used, size := readXState()
	if !used {
		return 0
	}
	return int(size)
}
