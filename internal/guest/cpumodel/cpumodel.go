// Package cpumodel puts processors into documents and back: what a host can give a guest as the nearest model that QEMU
// has and the features in which it differs, which of a document's features a host lacks, and what several processors have
// in common. It knows no model of its own: what each one consists of, QEMU said when it was asked. All of it is pure.
package cpumodel

import (
	"slices"
	"strings"

	"taproom/internal/spec"
)

// Definition is a processor as QEMU defines it, whatever the host can give of it.
type Definition struct {
	Name       string
	Vendor     string   // as CPUID says it: AuthenticAMD
	Features   []string // sorted, by QEMU's names
	Lacks      []string // those of them that the accelerator does not give on this host
	Deprecated bool
}

// Known is what one emulator said under one accelerator.
type Known struct {
	Host   Definition // everything that a guest can get here
	Models []Definition
}

// documentName is what documents call a feature of QEMU's.
func documentName(feature string) string {
	switch feature {
	case "pclmulqdq":
		return "pclmuldq"
	case "lahf-lm", "fxsr-opt", "cmp-legacy", "ds-cpl", "perfctr-core", "perfctr-nb", "nodeid-msr", "tsc-adjust":
		return strings.ReplaceAll(feature, "-", "_")
	}
	return feature
}

// QEMUName is what QEMU calls a feature of a document's.
func QEMUName(feature string) string {
	if feature == "pclmuldq" {
		return "pclmulqdq"
	}
	return strings.ReplaceAll(feature, "_", "-")
}

// VendorName is what documents call a vendor.
func VendorName(cpuid string) string {
	switch cpuid {
	case "GenuineIntel":
		return "Intel"
	case "AuthenticAMD":
		return "AMD"
	case "HygonGenuine":
		return "Hygon"
	}
	return ""
}

// HostModel is the host's processor as a document says it; nil where QEMU said nothing.
func (k Known) HostModel() *spec.CPU {
	return k.nearest(k.Host.Features, k.Host.Vendor)
}

// nearest is the model that differs in the fewest features. One of another vendor would be another processor.
func (k Known) nearest(features []string, vendor string) *spec.CPU {
	features = slices.DeleteFunc(slices.Clone(features), accelerators)
	var best *Definition
	least := 0
	for i := range k.Models {
		m := &k.Models[i]
		if m.Deprecated || m.Vendor != vendor {
			continue
		}
		n := len(without(features, m.Features)) + len(without(m.Features, features))
		if best == nil || n < least {
			best, least = m, n
		}
	}
	if best == nil {
		return nil
	}
	c := &spec.CPU{Mode: "custom", Match: "exact", Model: &spec.CPUModel{Fallback: "forbid", Value: best.Name}, Vendor: VendorName(best.Vendor)}
	add(c, "require", without(features, best.Features))
	add(c, "disable", without(best.Features, features))
	return c
}

// accelerators reports whether a feature is the hypervisor's, and not the processor's.
func accelerators(feature string) bool {
	return strings.HasPrefix(feature, "kvm") || strings.HasPrefix(feature, "hv-")
}

func add(c *spec.CPU, policy string, features []string) {
	for _, f := range features {
		if !accelerators(f) {
			c.Features = append(c.Features, spec.CPUFeature{Policy: policy, Name: documentName(f)})
		}
	}
}

// without returns what is in a and not in b, which are sorted.
func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		if _, found := slices.BinarySearch(b, s); !found {
			out = append(out, s)
		}
	}
	return out
}

func (k Known) model(name string) (Definition, bool) {
	i := slices.IndexFunc(k.Models, func(m Definition) bool { return m.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return k.Models[i], true
}
