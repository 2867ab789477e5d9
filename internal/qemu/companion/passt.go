package companion

import "strconv"

// Passt is the program that carries a NIC's frames as the host's own connections; options say which addresses and ports. It
// runs as the guest's user and shuts itself in, in namespaces and behind a filter of system calls; a ruleset would keep it
// from doing that. It ends when QEMU hangs up.
func Passt(program string, options []string, uid, gid uint32) Program {
	args := append([]string{program, "--foreground", "--stderr", "--fd", strconv.Itoa(SocketFD)}, options...)
	return Program{Name: "passt", Args: args, UID: uid, GID: gid, Connected: true}
}
