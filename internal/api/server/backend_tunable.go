package server

import (
	"context"

	"taproom/internal/spec"
)

// TunableSet is a set of parameters of what a guest gets of the host, with libvirt's names.
type TunableSet int

// The sets.
const (
	TunableScheduler TunableSet = iota // cpu_shares, vcpu_period, …
	TunableMemory                      // hard_limit, … in KiB
	TunableBlockIO                     // weight, device_weight, …
	TunableNUMA                        // numa_mode, numa_nodeset
)

// Tunables changes what guests get of the host, and says what they have used. Flags are AffectLive, AffectConfig.
type Tunables interface {
	Tunables(uuid spec.UUID, set TunableSet, flags uint32) ([]Param, error)
	SetTunables(ctx context.Context, uuid spec.UUID, set TunableSet, params []Param, flags uint32) error
	AddIOThread(ctx context.Context, uuid spec.UUID, thread, flags uint32) error
	DeleteIOThread(ctx context.Context, uuid spec.UUID, thread, flags uint32) error
	// SetIOThread changes how long an I/O thread polls (poll_max_ns, poll_grow, poll_shrink), and how many helpers it has
	// (thread_pool_min, thread_pool_max).
	SetIOThread(ctx context.Context, uuid spec.UUID, thread uint32, params []Param, flags uint32) error
	// CPUTime is what a domain has used of all CPUs of the host together: cpu_time, user_time, system_time in ns.
	CPUTime(uuid spec.UUID) ([]Param, error)
	// FreePages is how many pages of a size, in KiB, are free on a NUMA cell of the host; -1 for all cells.
	FreePages(cell int32, size uint32) (uint64, error)
	// DomainAutostartOnce says whether a domain starts with the next boot of the host, and not again.
	DomainAutostartOnce(uuid spec.UUID) (bool, error)
	SetDomainAutostartOnce(ctx context.Context, uuid spec.UUID, on bool) error
}
