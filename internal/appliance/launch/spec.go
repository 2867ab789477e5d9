package launch

import (
	"time"

	"taproom/internal/appliance/build"
	"taproom/internal/host"
)

// DefaultMemory is the least memory in MiB that an appliance gets when nobody says otherwise; a kernel may need more. Clones use
// what they touch of it, not all.
const DefaultMemory = 128

// Spec says which appliances are wanted. All that are launched from one Launcher are alike but for their disks.
type Spec struct {
	Kernel *host.Kernel // nil: one of its own
	Files  build.Files

	Way         Way
	Memory      uint64 // MiB; 0: what the kernel needs, and at least DefaultMemory
	Machine     string // "microvm", "q35" or "pc"; "": the fastest that boots this kernel
	Accelerator string // "kvm" or "tcg"; "": what a trial says
	NIC         bool   // it has a NIC, which Connect connects; without one there is no network at all
	QEMU        string // path of the emulator; "": qemu-system-x86_64 of the search path
	Launcher    string // path of taproom-launch; "": beside this program, or of the search path

	// Cgroup is the directory of a cgroup v2 that QEMUs are born in; "" leaves them in the caller's.
	Cgroup string
	// CacheDir is where templates are kept, "": DefaultCacheDir. It is this user's alone.
	CacheDir string
	// Libvirt is the URI of the daemon that WayLibvirt asks, on this host: qemu:///system or qemu:///session, with ?socket=PATH for one
	// at a place of its own; "": the machine's for root, the session's for others.
	Libvirt string
	// Trace is told of each stage that an appliance reaches, in their order; nil tells nobody.
	Trace func(Stage, time.Time)
}

// Stage is a point on the way of an appliance.
type Stage string

// The stages, in their order. A clone has no StageKernel and no StageInit, nor has a kernel that is told to be quiet.
const (
	StageExec     Stage = "exec"     // QEMU was executed
	StageKernel   Stage = "kernel"   // the first byte of the guest's kernel on its console
	StageInit     Stage = "init"     // the guest's kernel began its first process, by its own word on the console
	StageRestored Stage = "restored" // a clone runs where its template stopped
	StageReady    Stage = "ready"    // the agent answered
	StageClosed   Stage = "closed"   // QEMU is gone
)
