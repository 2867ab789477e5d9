package server

import (
	"context"

	"taproom/internal/api/remote"
	"taproom/internal/spec"
)

// DomainStates saves guests to files and restores them.
type DomainStates interface {
	// SaveDomain writes a guest's state to a file and ends the guest.
	SaveDomain(ctx context.Context, uuid spec.UUID, r SaveRequest) error
	// RestoreDomain is the way back.
	RestoreDomain(ctx context.Context, r SaveRequest) error
	// SavedImageXML is the document in a file; flags SavedXMLSecure.
	SavedImageXML(ctx context.Context, path string, flags uint32) (string, error)
	// DefineSavedImage replaces it; flags SaveRunning, SavePaused.
	DefineSavedImage(ctx context.Context, path, xml string, flags uint32) error
	// ManagedSave is SaveDomain to a file of the domain's own, from which it starts next.
	ManagedSave(ctx context.Context, uuid spec.UUID, r SaveRequest) error
	RemoveManagedSave(ctx context.Context, uuid spec.UUID) error
	ManagedSaveXML(ctx context.Context, uuid spec.UUID, flags uint32) (string, error)
	DefineManagedSave(ctx context.Context, uuid spec.UUID, xml string, flags uint32) error
	// DumpDomain writes a guest's memory to a file, and the guest goes on unless the flags say otherwise.
	DumpDomain(ctx context.Context, uuid spec.UUID, r DumpRequest) error
}

// DomainJobControl watches and ends jobs of domains.
type DomainJobControl interface {
	// DomainJob is the job under way, or the last one that is over. Its figures are forgotten unless they are to be kept.
	DomainJob(ctx context.Context, uuid spec.UUID, completed, keep bool) (Job, error)
	AbortDomainJob(ctx context.Context, uuid spec.UUID) error
}

// SaveRequest is a guest's state that is to be written or read.
type SaveRequest struct {
	Path   string
	XML    string // a document in place of the guest's; "" keeps that
	Format string // of the stream; "" is the setting's
	Flags  uint32 // SaveBypassCache, SaveRunning, SavePaused, SaveResetNVRAM
}

// DumpRequest is a guest's memory that is to be written.
type DumpRequest struct {
	Path   string
	Format uint32 // CoreDumpRaw and its siblings
	Flags  uint32 // DumpCrash and its siblings
}

// Job is how far a job is, or what it came to. Times are milliseconds, amounts bytes; the zero value is no job.
type Job struct {
	Type, Operation int32
	Elapsed         uint64
	Remaining       uint64
	Downtime, Setup uint64
	Data, Memory    JobAmount
	BytesPerSecond  uint64
	Pages           JobPages
	Error           string // why it failed
	Dump            bool   // QEMU knows of it how much there is and how much is done
}

// JobAmount is how much there is to move.
type JobAmount struct{ Total, Processed, Remaining uint64 }

// JobPages is what QEMU says of a guest's pages.
type JobPages struct {
	Constant, Normal, NormalBytes, DirtyRate, Iteration, Size uint64
}

// Params are the figures as libvirt names them.
func (j *Job) Params() []Param {
	out := []Param{remote.IntParam("operation", j.Operation), remote.Uint64Param("time_elapsed", j.Elapsed)}
	add := func(name string, v uint64) { out = append(out, remote.Uint64Param(name, v)) }
	amount := func(name string, a JobAmount) {
		add(name+"_total", a.Total)
		add(name+"_processed", a.Processed)
		add(name+"_remaining", a.Remaining)
	}
	if j.Type == JobBounded {
		add("time_remaining", j.Remaining)
	}
	if j.Downtime != 0 {
		add("downtime", j.Downtime)
	}
	if j.Setup != 0 {
		add("setup_time", j.Setup)
	}
	amount("data", j.Data)
	amount("memory", j.Memory)
	if j.Dump {
		return out
	}
	add("memory_bps", j.BytesPerSecond)
	add("memory_constant", j.Pages.Constant)
	add("memory_normal", j.Pages.Normal)
	add("memory_normal_bytes", j.Pages.NormalBytes)
	add("memory_dirty_rate", j.Pages.DirtyRate)
	add("memory_iteration", j.Pages.Iteration)
	add("memory_page_size", j.Pages.Size)
	if j.Error != "" {
		out = append(out, remote.StringParam("errmsg", j.Error))
	}
	return out
}

// Completed are the parameters of the event that a job is over.
func (j *Job) Completed() []Param {
	return append(j.Params(), remote.BoolParam("success", j.Type == JobCompleted))
}
