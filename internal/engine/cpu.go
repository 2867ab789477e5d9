package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest/cpumodel"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// knownCPUs are the processors that an emulator gives under an accelerator. It asked once, and wrote it down.
func (e *Engine) knownCPUs(ctx context.Context, emulator, accel string) (cpumodel.Known, error) {
	c, err := e.capabilities(ctx, emulator)
	if err != nil {
		return cpumodel.Known{}, err
	}
	return knownCPUs(c, accel), nil
}

func knownCPUs(c *qemu.Capabilities, accel string) cpumodel.Known {
	whole := map[string]string{"kvm": "host", "tcg": "max"}[accel]
	about := map[string]qemu.CPU{}
	for _, m := range c.CPUs[accel] {
		about[m.Name] = m
	}
	var k cpumodel.Known
	for _, d := range c.Definitions[accel] {
		m := cpumodel.Definition{
			Name: d.Name, Vendor: d.Vendor, Features: d.Features, Lacks: slices.Sorted(slices.Values(about[d.Name].Unavailable)), Deprecated: about[d.Name].Deprecated,
		}
		if d.Name == whole {
			k.Host = m
		} else {
			k.Models = append(k.Models, m)
		}
	}
	return k
}

// withCPU is a document with the processor that its guest gets: what the document leaves to the host is written down, so
// that it is the same wherever the document is shown, and for as long as the guest runs.
func (e *Engine) withCPU(ctx context.Context, doc *spec.Domain) (*spec.Domain, error) {
	k, err := e.knownCPUs(ctx, e.emulatorOf(doc), accelOf(doc))
	if err != nil {
		return nil, err
	}
	cpu, missing := k.Run(doc.CPU)
	if len(missing) > 0 {
		return nil, virterr.New(virterr.ConfigUnsupported, "the CPU does not fit this host, which does not give guests: %s; disable them, or use check='none'", strings.Join(missing, ", "))
	}
	if cpu == doc.CPU {
		return doc, nil
	}
	out := doc.Clone()
	out.CPU = cpu
	return out.Clone(), nil // shares nothing with what is known of the host
}

// cpusFor are the processors of the emulator that a client asks about.
func (e *Engine) cpusFor(ctx context.Context, q server.DomainCapabilitiesQuery) (cpumodel.Known, error) {
	emulator := cmp.Or(q.Emulator, e.cfg.Emulator)
	c, err := e.capabilities(ctx, emulator)
	if err != nil {
		return cpumodel.Known{}, err
	}
	accel := "tcg"
	switch kvm := e.kvm(); {
	case q.Arch != "" && q.Arch != c.Arch:
		return cpumodel.Known{}, virterr.New(virterr.ConfigUnsupported, "emulator %s runs %s, not %s", emulator, c.Arch, q.Arch)
	case q.VirtType == "kvm" && !kvm.Usable:
		return cpumodel.Known{}, virterr.New(virterr.ConfigUnsupported, "KVM does not work here: %s", kvm.Reason)
	case q.VirtType != "" && q.VirtType != "kvm" && q.VirtType != "qemu":
		return cpumodel.Known{}, virterr.New(virterr.ConfigUnsupported, "type='%s' is not implemented; use kvm or qemu", q.VirtType)
	case q.VirtType == "kvm" || q.VirtType == "" && kvm.Usable:
		accel = "kvm"
	}
	return knownCPUs(c, accel), nil
}

// CompareCPU implements server.Processors.
func (e *Engine) CompareCPU(ctx context.Context, q server.DomainCapabilitiesQuery, xml string) (int32, []string, error) {
	k, err := e.cpusFor(ctx, q)
	if err != nil {
		return 0, nil, err
	}
	c, err := spec.ParseCPU([]byte(xml))
	if err != nil {
		return 0, nil, documentError(err)
	}
	result, lacking, err := k.Compare(c)
	if err != nil {
		return 0, nil, documentError(err)
	}
	return int32(result), lacking, nil
}

// BaselineCPU implements server.Processors.
func (e *Engine) BaselineCPU(ctx context.Context, q server.DomainCapabilitiesQuery, xml []string, expand bool) (string, error) {
	k, err := e.cpusFor(ctx, q)
	if err != nil {
		return "", err
	}
	var cpus []*spec.CPU
	for _, doc := range xml {
		c, err := spec.ParseCPU([]byte(doc))
		if err != nil {
			return "", documentError(err)
		}
		cpus = append(cpus, c)
	}
	c, err := k.Baseline(cpus, expand)
	if err != nil {
		return "", documentError(err)
	}
	return string(c.Format()), nil
}
