package server

import (
	"fmt"
	"strings"

	"taproom/internal/api/remote"
)

// callName is what to call a procedure: the function of libvirt's that a client knows, or its number.
func callName(program, procedure uint32) string {
	switch program {
	case remote.ProgramRemote:
		if name := remote.ProcedureName(procedure); name != "" {
			return apiName(name)
		}
	case remote.ProgramQEMU:
		if name := remote.QEMUProcedureName(procedure); name != "" {
			// virDomainQemuMonitorCommand, virConnectDomainQemuMonitorEventRegister
			return strings.Replace(apiName(name), "Domain", "DomainQemu", 1)
		}
	}
	return fmt.Sprintf("procedure %d of program %#x", procedure, program)
}

// apiName is what libvirt calls the function behind a procedure: DOMAIN_CREATE_XML → virDomainCreateXML.
func apiName(procedure string) string {
	var b strings.Builder
	b.WriteString("vir")
	for _, w := range strings.Split(procedure, "_") {
		b.WriteString(apiWord(w))
	}
	return b.String()
}

// apiWord writes a word as libvirt's functions do, which treat some as abbreviations.
func apiWord(w string) string {
	switch w {
	case "":
		return ""
	case "XML", "ID", "UUID", "OS", "CPU", "FD", "DHCP", "MAC", "URI", "NMI", "PM", "SCSI", "WWN", "SEV", "SSH":
		return w
	}
	capital := w[:1] + strings.ToLower(w[1:])
	for _, short := range []string{"NW", "FS", "IO"} { // NWFilters, FSTrim, IOThread; but not Fs or Io alone
		if rest, ok := strings.CutPrefix(w, short); ok {
			switch rest {
			case "FILTER", "FILTERS", "FREEZE", "THAW", "TRIM", "INFO", "THREAD":
				return short + rest[:1] + strings.ToLower(rest[1:])
			}
		}
	}
	return capital
}
