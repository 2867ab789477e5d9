package pid1

import "golang.org/x/sys/unix"

// Quick does a system call that waits for nothing. The runtime is not told of it. Told, it would wake the thread that watches over
// system calls, and that takes the processor from a call that lasts for 20 µs, as all do in emulation when they are made for the first
// time: some thousand instructions that each clone of a template would have to translate before it could answer.
//
//go:uintptrescapes
func Quick(trap, a1, a2, a3 uintptr) (uintptr, error) {
	for {
		n, _, errno := unix.RawSyscall(trap, a1, a2, a3)
		switch errno {
		case 0:
			return n, nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
