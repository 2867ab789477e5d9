package servertest

import (
	"context"
	"strconv"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// CompareCPU implements server.Processors: a processor with "martian" in it does not fit.
func (f *Fake) CompareCPU(_ context.Context, _ server.DomainCapabilitiesQuery, xml string) (int32, []string, error) {
	if strings.Contains(xml, "martian") {
		return server.CPUIncompatible, []string{"antennae"}, f.enter("CompareCPU")
	}
	return server.CPUSuperset, nil, f.enter("CompareCPU")
}

// BaselineCPU implements server.Processors.
func (f *Fake) BaselineCPU(_ context.Context, _ server.DomainCapabilitiesQuery, xml []string, expand bool) (string, error) {
	return "<cpu><model>common of " + strconv.Itoa(len(xml)) + "</model></cpu>\n", f.enter("BaselineCPU")
}

// PinVCPU implements server.Placements.
func (f *Fake) PinVCPU(_ context.Context, uuid spec.UUID, _ uint32, _ []int, _ uint32) error {
	return f.change("PinVCPU", uuid, running)
}

// PinEmulator implements server.Placements.
func (f *Fake) PinEmulator(_ context.Context, uuid spec.UUID, _ []int, _ uint32) error {
	return f.change("PinEmulator", uuid, running)
}

// PinIOThread implements server.Placements.
func (f *Fake) PinIOThread(_ context.Context, uuid spec.UUID, _ uint32, _ []int, _ uint32) error {
	return f.change("PinIOThread", uuid, running)
}

// VCPUPins implements server.Placements.
func (f *Fake) VCPUPins(_ context.Context, uuid spec.UUID, _ uint32) ([][]int, error) {
	return [][]int{{0}, {1, 2}}, f.change("VCPUPins", uuid, func(*domain) error { return nil })
}

// EmulatorPin implements server.Placements.
func (f *Fake) EmulatorPin(_ context.Context, uuid spec.UUID, _ uint32) ([]int, error) {
	return []int{3}, f.change("EmulatorPin", uuid, func(*domain) error { return nil })
}

// IOThreadPins implements server.Placements.
func (f *Fake) IOThreadPins(_ context.Context, uuid spec.UUID, _ uint32) ([]server.IOThreadPin, error) {
	return []server.IOThreadPin{{ID: 7, CPUs: []int{0, 1}}}, f.change("IOThreadPins", uuid, func(*domain) error { return nil })
}

// CellsFreeMemory implements server.Placements.
func (f *Fake) CellsFreeMemory() ([]uint64, error) { return []uint64{1 << 30}, nil }
