package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// checkKVM reports whether guests run at the processor's speed. That /dev/kvm exists proves nothing: the probe has made a
// machine.
func checkKVM(ctx context.Context, e Env) []Finding {
	f := Finding{Name: "kvm"}
	if e.KVM == nil {
		f.Status, f.Evidence = Unknown, "no probe was given"
		return []Finding{f}
	}
	usable, why, err := e.KVM.ProbeKVM(ctx)
	_, nodeErr := e.node("/dev/kvm")
	switch {
	case err != nil:
		f.Status, f.Evidence = Unknown, err.Error()
	case usable:
		f.Status, f.Evidence = OK, why
	default:
		f.Status, f.Evidence = Warning, why
		f.Remedy = "enable virtualisation (VT-x, AMD-V) in the firmware, or nested virtualisation on the host above; until then guests run by TCG, many times slower, and documents of type 'kvm' are refused"
		if errors.Is(nodeErr, fs.ErrNotExist) {
			f.Evidence = fmt.Sprintf("%s; /dev/kvm does not exist", why)
			f.Remedy = "modprobe kvm_intel, or kvm_amd; if that fails " + f.Remedy
		}
	}
	return []Finding{f}
}
