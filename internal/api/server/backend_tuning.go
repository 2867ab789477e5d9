package server

import "context"

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
