package guest

import "taproom/internal/spec"

// Secrets takes passwords out of a document. They are shown only to clients that may write and asked for them
// (VIR_DOMAIN_XML_SECURE).
func withoutSecrets(d *spec.Domain) {
	if d.Devices == nil {
		return
	}
	for i := range d.Devices.Graphics {
		d.Devices.Graphics[i].Passwd, d.Devices.Graphics[i].PasswdValidTo = "", ""
	}
}

// Inactive is the completed document as dumpxml shows it for the next start. The document itself is not changed.
func Inactive(d *spec.Domain, secure bool) *spec.Domain {
	out := d.Clone()
	if !secure {
		withoutSecrets(out)
	}
	return out
}
