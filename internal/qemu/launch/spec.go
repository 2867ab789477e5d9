// Package launch is what taproom-launch does between fork and QEMU: it gives up everything the guest's QEMU must not
// have, tells its parent how that went, and executes QEMU in its own place, so that the process number stays.
//
// It imports little, because every start of a guest pays for its imports.
package launch

import (
	"encoding/json"

	"taproom/internal/host"
)

// Spec is what becomes of the process. It arrives as JSON on a descriptor whose number is the only argument.
type Spec struct {
	Path string   // what is executed
	Args []string // argv, with argv[0]
	Env  []string // the whole environment

	UID, GID uint32   // never 0, unless Root
	Groups   []uint32 // supplementary groups, never 0: what opens a device such as /dev/kvm
	// Root has it keep the user, the groups and the capabilities that the caller has: for a program that shuts itself in
	// with them, such as virtiofsd. UID and GID are 0 then.
	Root     bool
	Umask    int
	Limits   []Limit
	OOMScore *int // oom_score_adj; nil leaves it

	// DieWithParent ends the process with the thread that started it. For probes; guests stay, and appliances have a leash.
	DieWithParent bool
	Parent        int // the parent's number, to notice that it is gone
	// Leash is the reading end of a pipe, one of those that are kept: the kernel kills the process when the last writing end
	// closes, whichever process and thread has that. 0 for none.
	Leash int

	NoHugePages bool           // transparent huge pages off: less memory for many small guests
	NoRandomize bool           // addresses are not randomized (ADDR_NO_RANDOMIZE): for User-Mode Linux, whose memory begins behind its program
	Landlock    *host.Landlock // nil for none
	// Syscalls are all that it may call from exec on; nil for no limit. QEMU has a filter of its own.
	Syscalls host.Syscalls

	Keep     int // descriptors from 3 on that what is executed inherits
	StatusFD int // reports go here; it closes with exec
	PIDFile  int // number and start time go here before exec; 0 for none
}

// Limit is a resource limit.
type Limit struct {
	Resource   int // unix.RLIMIT_…
	Soft, Hard uint64
}

// PIDRecord is the content of a pid file. Number and start time together name one process for ever.
type PIDRecord struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot
}

// Report is what the parent reads, one JSON value or two: how the confinement went, and a failure.
type Report struct {
	Landlock   int    `json:"landlock,omitempty"`    // the version that is enforced
	NoLandlock string `json:"no_landlock,omitempty"` // why there is none
	Stage      string `json:"stage,omitempty"`       // what failed: "spec", "confine" or "exec"
	Failure    string `json:"failure,omitempty"`
	Errno      int    `json:"errno,omitempty"`
}

// Stages of a failure.
const (
	StageSpec    = "spec"
	StageConfine = "confine"
	StageExec    = "exec"
)

// Encode returns the form in which a Spec is passed.
func (s Spec) Encode() ([]byte, error) { return json.Marshal(s) }
