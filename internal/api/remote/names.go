package remote

import (
	_ "embed"
	"strings"
)

// procedureNames has the name of procedure n of libvirt's program, as of libvirt 11, in line n.
//
//go:embed procedures.txt
var procedureNames string

// ProcedureName is what libvirt's protocol calls a procedure of its program, served here or not, without REMOTE_PROC_. It
// is "" for a number that libvirt has not given yet. A call that is refused is named by it; nothing else asks.
func ProcedureName(number uint32) string {
	line := uint32(0)
	for name := range strings.Lines(procedureNames) {
		if line++; line == number {
			return strings.TrimSuffix(name, "\n")
		}
	}
	return ""
}

// QEMUProcedureName is the same for the program of calls that only QEMU has, without QEMU_PROC_.
func QEMUProcedureName(number uint32) string {
	names := [...]string{
		"", "DOMAIN_MONITOR_COMMAND", "DOMAIN_ATTACH", "DOMAIN_AGENT_COMMAND", "CONNECT_DOMAIN_MONITOR_EVENT_REGISTER",
		"CONNECT_DOMAIN_MONITOR_EVENT_DEREGISTER", "DOMAIN_MONITOR_EVENT", "DOMAIN_MONITOR_COMMAND_WITH_FILES",
	}
	if int64(number) >= int64(len(names)) {
		return ""
	}
	return names[number]
}
