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
