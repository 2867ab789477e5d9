package engine

import (
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// compileGuest makes a command line of a completed document, with what the document wants of the host.
func (e *Engine) compileGuest(doc *spec.Domain, rt guest.Runtime) (*guest.Compiled, error) {
	if doc.OS.SMBIOS != nil {
		if mode, _ := doc.OS.SMBIOS.Attr("mode"); mode == "host" {
			rt.HostSysinfo = guest.HostSysinfo(e.k.DMI())
		}
	}
	c, err := guest.Compile(doc, rt)
	if err != nil {
		return nil, about("domain", doc.Name, documentError(err))
	}
	return c, nil
}
