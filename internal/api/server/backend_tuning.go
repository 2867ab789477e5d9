package server

import (
	"context"

	"taproom/internal/spec"
)

// Processors answers questions about the processors that guests can have here.
type Processors interface {
	// CompareCPU says how what guests can get here compares with the processor in a document (a <cpu>, or one that has it
	// inside): CPUIncompatible, CPUIdentical or CPUSuperset; and what is lacking.
	CompareCPU(ctx context.Context, q DomainCapabilitiesQuery, xml string) (result int32, lacking []string, err error)
	// BaselineCPU is a processor that all of the given ones can play, as <cpu>; expand names every feature of it.
	BaselineCPU(ctx context.Context, q DomainCapabilitiesQuery, xml []string, expand bool) (string, error)
}

// Results of CompareCPU (virCPUCompareResult).
const (
	CPUIncompatible = 0
	CPUIdentical    = 1
	CPUSuperset     = 2
)

// Flags of the calls about processors.
const (
	BaselineExpandFeatures = 1
	BaselineMigratable     = 2
	CompareFailIncompat    = 1
	CompareValidate        = 2
)

// Placements says where the threads of guests run. CPUs are the host's, by number; flags AffectLive, AffectConfig.
type Placements interface {
	PinVCPU(ctx context.Context, uuid spec.UUID, vcpu uint32, cpus []int, flags uint32) error
	PinEmulator(ctx context.Context, uuid spec.UUID, cpus []int, flags uint32) error
	PinIOThread(ctx context.Context, uuid spec.UUID, thread uint32, cpus []int, flags uint32) error
	// VCPUPins are the CPUs of each virtual CPU, EmulatorPin those of all other threads, IOThreadPins those of each I/O thread.
	VCPUPins(ctx context.Context, uuid spec.UUID, flags uint32) ([][]int, error)
	EmulatorPin(ctx context.Context, uuid spec.UUID, flags uint32) ([]int, error)
	IOThreadPins(ctx context.Context, uuid spec.UUID, flags uint32) ([]IOThreadPin, error)
	// CellsFreeMemory is what is free on each of the host's NUMA nodes, in bytes, by number.
	CellsFreeMemory() ([]uint64, error)
}

// IOThreadPin is an I/O thread, and where it runs.
type IOThreadPin struct {
	ID   uint32
	CPUs []int
}
