package cpumodel

import (
	"slices"
	"strings"

	"taproom/internal/spec"
)

// Run is the processor that a guest gets whose document has c: host-model becomes a model and features, and of a model
// what the host lacks is switched off, as QEMU would do without a word. c does not change. missing are the features that c
// wants checked and the host does not have.
func (k Known) Run(c *spec.CPU) (run *spec.CPU, missing []string) {
	switch {
	case c == nil:
		return nil, nil
	case c.Mode == "host-model":
		return k.runHost(c)
	case c.Mode == "custom" && c.Model != nil:
		return k.runCustom(c)
	}
	return c, nil
}

// runHost is the host's processor with what the document says differently.
func (k Known) runHost(c *spec.CPU) (*spec.CPU, []string) {
	host := k.HostModel()
	if host == nil {
		return c, nil
	}
	out := *c
	out.Mode, out.Match, out.Check, out.Model, out.Vendor = "custom", "exact", "full", host.Model, host.Vendor
	out.Features = slices.DeleteFunc(host.Features, func(f spec.CPUFeature) bool {
		return slices.ContainsFunc(c.Features, func(own spec.CPUFeature) bool { return own.Name == f.Name })
	})
	out.Features = append(out.Features, c.Features...)
	return &out, k.lacking(c)
}

func (k Known) runCustom(c *spec.CPU) (*spec.CPU, []string) {
	m, known := k.model(strings.TrimSpace(c.Model.Value))
	if !known {
		return c, nil
	}
	said := map[string]bool{}
	for _, f := range c.Features {
		said[QEMUName(f.Name)] = true
	}
	lacks := slices.DeleteFunc(slices.Clone(m.Lacks), func(f string) bool {
		_, feature := slices.BinarySearch(m.Features, f) // QEMU lists other things there too, such as "type"
		return said[f] || !feature
	})
	var missing []string
	if c.Check == "partial" || c.Check == "full" {
		for _, f := range lacks {
			missing = append(missing, documentName(f))
		}
		missing = append(missing, k.lacking(c)...)
	}
	if len(lacks) == 0 {
		return c, missing
	}
	out := *c
	out.Check = "full"
	out.Features = slices.Clone(c.Features)
	add(&out, "disable", lacks)
	return &out, missing
}

// lacking are the features that a document wants itself and that the host does not have.
func (k Known) lacking(c *spec.CPU) []string {
	var out []string
	for _, f := range c.Features {
		if _, has := slices.BinarySearch(k.Host.Features, QEMUName(f.Name)); f.Policy == "require" && !has && !unseen(f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// unseen are features that a guest can have though the host's processor is not listed with them: it could not be moved to
// another host, or its hypervisor has them.
func unseen(feature string) bool { return feature == "invtsc" || accelerators(QEMUName(feature)) }
