package doctor

import (
	"context"
	"strings"

	"taproom/internal/qemu"
)

// checkKVM reports whether guests run at the processor's speed. That /dev/kvm exists proves nothing: the probe has run a
// machine. Without KVM guests run all the same, so it is a warning.
func checkKVM(ctx context.Context, e Env) []Finding {
	probe := e.KVM
	if probe == nil {
		probe = func(ctx context.Context) qemu.KVM { return qemu.ProbeKVM(ctx, e.Kernel) }
	}
	k := probe(ctx)
	f := Finding{Name: "kvm", Status: OK, Evidence: k.Reason}
	if !k.Usable {
		f.Status, f.Remedy = Warning, k.Reason
		f.Evidence = "not usable: guests run by TCG, many times slower, and documents of type 'kvm' are refused"
	}
	if len(k.Evidence) > 0 {
		f.Evidence += " (" + strings.Join(k.Evidence, "; ") + ")"
	}
	return []Finding{f}
}
