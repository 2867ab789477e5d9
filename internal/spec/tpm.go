package spec

// TPM is a trusted platform module: tpm-tis or tpm-crb.
type TPM struct {
	Model   string     `xml:"model,attr,omitempty"`
	Backend TPMBackend `xml:"backend"`
	Alias   *Alias     `xml:"alias"`
	Address *Address   `xml:"address"`
	Extra
}

// TPMBackend is what computes: emulator (a swtpm of the guest's own), or external (one that somebody else runs).
type TPMBackend struct {
	Type            string     `xml:"type,attr"`
	Version         string     `xml:"version,attr,omitempty"` // 1.2 or 2.0
	PersistentState string     `xml:"persistent_state,attr,omitempty"`
	Source          *TPMSource `xml:"source"`
	PCRBanks        *PCRBanks  `xml:"active_pcr_banks"`
	Extra
}

// TPMSource is the socket of an external TPM.
type TPMSource struct {
	Type string `xml:"type,attr"`
	Mode string `xml:"mode,attr,omitempty"`
	Path string `xml:"path,attr"`
	Extra
}

// PCRBanks are the banks of platform configuration registers that a TPM 2.0 has.
type PCRBanks struct {
	SHA1   *State `xml:"sha1"`
	SHA256 *State `xml:"sha256"`
	SHA384 *State `xml:"sha384"`
	SHA512 *State `xml:"sha512"`
	Extra
}

// Names lists the banks.
func (b *PCRBanks) Names() []string {
	if b == nil {
		return nil
	}
	var out []string
	for _, k := range []struct {
		name string
		is   *State
	}{{"sha1", b.SHA1}, {"sha256", b.SHA256}, {"sha384", b.SHA384}, {"sha512", b.SHA512}} {
		if k.is != nil {
			out = append(out, k.name)
		}
	}
	return out
}

func tpmRules() map[string]rule {
	return map[string]rule{
		"devices/tpm/@model":                    values("tpm-tis tpm-crb", "tpm-spapr spapr-tpm-proxy"),
		"devices/tpm/backend/@type":             values("emulator external", "passthrough"),
		"devices/tpm/backend/@version":          values("1.2 2.0", ""),
		"devices/tpm/backend/@persistent_state": yesNo(),
		"devices/tpm/backend/encryption":        refuse("the state of a TPM is not encrypted: there are no secrets here"),
		"devices/tpm/backend/device":            refuse("TPMs of the host are not passed through"),
		"devices/tpm/backend/profile":           refuse("the profile of a TPM cannot be chosen"),
		"devices/tpm/backend/source/@type":      values("unix", "dir file"),
		"devices/tpm/backend/source/@mode":      values("connect", "bind"),
		"devices/tpm/backend/source/@path":      pattern(`/[^\x00]*`, "an absolute path"),
	}
}

// checkTPMs checks what no rule sees: that there is one TPM, and that its parts go together.
func (d *Devices) checkTPMs() error {
	if len(d.TPMs) > 1 {
		return unsupported("devices/tpm", "a guest has one TPM, not %d", len(d.TPMs))
	}
	for i := range d.TPMs {
		t := &d.TPMs[i]
		b := &t.Backend
		switch {
		case b.Type == "":
			return invalid("devices/tpm/backend/@type", "it is missing; use emulator or external")
		case b.Type == "external" && (b.Source == nil || b.Source.Type == "" || b.Source.Path == ""):
			return invalid("devices/tpm/backend/source", "an external TPM needs <source type='unix' mode='connect' path='…'/>")
		case b.Type == "external" && (b.Version != "" || b.PersistentState != "" || b.PCRBanks != nil):
			return invalid("devices/tpm/backend", "version, persistent_state and active_pcr_banks are for type='emulator'")
		case b.Type == "emulator" && b.Source != nil:
			return unsupported("devices/tpm/backend/source", "the place of a TPM's state cannot be chosen; leave the element out")
		case t.Model == "tpm-crb" && b.Version == "1.2":
			return unsupported("devices/tpm/backend/@version", "tpm-crb is for TPM 2.0; use tpm-tis for 1.2")
		case b.Version == "1.2" && b.PCRBanks != nil:
			return unsupported("devices/tpm/backend/active_pcr_banks", "a TPM 1.2 has no banks to choose from")
		}
	}
	return nil
}
