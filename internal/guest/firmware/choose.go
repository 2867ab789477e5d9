package firmware

import (
	"fmt"
	"strings"
)

// Tristate is yes, no, or that it does not matter ("").
type Tristate string

// What a Tristate may say.
const (
	Any Tristate = ""
	Yes Tristate = "yes"
	No  Tristate = "no"
)

func (t Tristate) allows(has bool) bool { return t == Any || (t == Yes) == has }

// Want is what a guest asks of UEFI firmware.
type Want struct {
	Arch, Machine string // x86_64, pc-q35-7.2
	SecureBoot    Tristate
	EnrolledKeys  Tristate
	SMM           Tristate // whether it may, or has to, need system management mode
	Stateless     Tristate
	Format        string // of the image, "" for any
	Template      string // of the variables, "" for any
}

// NoneError says why no firmware fits: for each one that there is, what is in the way.
type NoneError struct {
	Want    Want
	Reasons []string
}

// Error implements error.
func (e *NoneError) Error() string {
	if len(e.Reasons) == 0 {
		return "no UEFI firmware is installed: no descriptor is in /usr/share/qemu/firmware or /etc/qemu/firmware; install ovmf"
	}
	return fmt.Sprintf("no UEFI firmware fits machine %s: %s", e.Want.Machine, strings.Join(e.Reasons, "; "))
}

// Choose returns the first firmware that fits, or a *NoneError.
func (l List) Choose(w Want) (Descriptor, error) {
	none := &NoneError{Want: w}
	for _, d := range l.Descriptors {
		if !d.UEFI() {
			continue
		}
		why := d.against(w)
		if why == "" {
			return d, nil
		}
		none.Reasons = append(none.Reasons, d.Name+" "+why)
	}
	for _, err := range l.Bad {
		none.Reasons = append(none.Reasons, err.Error())
	}
	return Descriptor{}, none
}

// against is what keeps a firmware from being what is wanted, "" when nothing does.
func (d *Descriptor) against(w Want) string {
	if !d.Fits(w.Arch, w.Machine) {
		return "is for other machines"
	}
	if d.Mapping.Mode == "combined" {
		return "keeps its variables in its own image"
	}
	for _, f := range []struct {
		want Tristate
		has  bool
		name string
	}{
		{w.SecureBoot, d.Has(SecureBoot), "secure boot"},
		{w.EnrolledKeys, d.Has(EnrolledKeys), "enrolled keys"},
		{w.SMM, d.Has(RequiresSMM), "need of SMM"},
	} {
		if !f.want.allows(f.has) {
			return map[bool]string{true: "has ", false: "has no "}[f.has] + f.name
		}
	}
	switch {
	case w.Stateless != Yes && d.Stateless():
		return "has no variables that last"
	case w.Stateless == Yes && !d.Stateless():
		return "has variables that last"
	case w.Format != "" && w.Format != d.Mapping.Executable.Format:
		return "is in format " + d.Mapping.Executable.Format
	case w.Template != "" && w.Template != d.Mapping.Template.Filename:
		return "has another template for its variables"
	}
	return ""
}
