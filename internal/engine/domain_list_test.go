package engine

import (
	"testing"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

func TestVirtualCPUsAreCountedAsAsked(t *testing.T) {
	t.Parallel()
	e := small(t)
	d := newDomain(spec.NewUUID(), "d", &defined{head: definition{VCPUs: 2, MaxVCPUs: 8}})
	e.domains.add(d)
	d.update(func(v *view) { v.run = consisting(hardware{head: definition{VCPUs: 1, MaxVCPUs: 4}}) })
	for flags, want := range map[uint32]int32{
		0: 1, server.VCPULive: 1, server.VCPUConfig: 2,
		server.VCPUMaximum: 4, server.VCPUMaximum | server.VCPULive: 4, server.VCPUMaximum | server.VCPUConfig: 8,
	} {
		if got, err := e.DomainVCPUs(d.uuid, flags); got != want || err != nil {
			t.Errorf("flags %#x: %d, %v; want %d", flags, got, err, want)
		}
	}
}
