package server

import (
	"context"
	"time"

	"taproom/internal/spec"
)

// GuestAgents is what qemu-guest-agent in a guest is asked. Every method waits for the guest, as long as its caller does and
// the time allows that SetAgentTimeout set; ctx ends when the client leaves.
type GuestAgents interface {
	// AgentCommand hands the agent a command as JSON and returns its answer as JSON. timeout is in seconds, or AgentBlock,
	// AgentDefault, AgentNoWait.
	AgentCommand(ctx context.Context, uuid spec.UUID, command string, timeout int32) (string, error)
	// SetAgentTimeout says how long the other methods wait for an answer, in the same terms.
	SetAgentTimeout(ctx context.Context, uuid spec.UUID, timeout int32) error
	// GuestInfo answers for a set of GuestInfo… bits, 0 for all that the agent knows. The names are libvirt's ("os.id").
	GuestInfo(ctx context.Context, uuid spec.UUID, types uint32) ([]Param, error)
	// GuestHostname asks HostnameLease or HostnameAgent.
	GuestHostname(ctx context.Context, uuid spec.UUID, source uint32) (string, error)
	// FreezeFilesystems freezes those that are mounted at the points, or all, and says how many; ThawFilesystems thaws all.
	FreezeFilesystems(ctx context.Context, uuid spec.UUID, mountpoints []string) (int32, error)
	ThawFilesystems(ctx context.Context, uuid spec.UUID) (int32, error)
	// TrimFilesystems gives unused blocks back, in runs of at least so many bytes.
	TrimFilesystems(ctx context.Context, uuid spec.UUID, minimum uint64) error
	GuestFilesystems(ctx context.Context, uuid spec.UUID) ([]GuestFilesystem, error)
	GuestTime(ctx context.Context, uuid spec.UUID) (time.Time, error)
	// SetGuestTime sets the guest's clock, or with the zero time has the guest read its hardware clock.
	SetGuestTime(ctx context.Context, uuid spec.UUID, to time.Time) error
	SetGuestPassword(ctx context.Context, uuid spec.UUID, user, password string, encrypted bool) error
	// GuestVCPUs are sets of processors as text: vcpus, online, offlinable.
	GuestVCPUs(ctx context.Context, uuid spec.UUID) ([]Param, error)
	SetGuestVCPUs(ctx context.Context, uuid spec.UUID, set string, online bool) error
	// GuestVCPUCount is how many processors the guest uses, or with most could use; SetGuestVCPUCount has it use so many.
	GuestVCPUCount(ctx context.Context, uuid spec.UUID, most bool) (int32, error)
	SetGuestVCPUCount(ctx context.Context, uuid spec.UUID, n uint32) error
	GuestSSHKeys(ctx context.Context, uuid spec.UUID, user string) ([]string, error)
	// SetGuestSSHKeys puts keys in place of a user's; flags SSHKeysAppend, SSHKeysRemove.
	SetGuestSSHKeys(ctx context.Context, uuid spec.UUID, user string, keys []string, flags uint32) error
}

// GuestFilesystem is one file system that a guest has mounted, as its agent says.
type GuestFilesystem struct {
	Mountpoint, Name, Type string
	Disks                  []string // targets of the domain's disks that it lies on
}

// How long to wait for an agent, besides seconds.
const (
	AgentBlock   = -2 // without end
	AgentDefault = -1 // 5 s
	AgentNoWait  = 0
)

// What is known of a guest.
const (
	GuestInfoUsers      = 1
	GuestInfoOS         = 2
	GuestInfoTimezone   = 4
	GuestInfoHostname   = 8
	GuestInfoFilesystem = 16
	GuestInfoDisks      = 32
	GuestInfoInterfaces = 64
	GuestInfoLoad       = 128
)

// Flags of calls that the agent answers.
const (
	HostnameLease     = 1
	HostnameAgent     = 2
	SetTimeSync       = 1
	PasswordEncrypted = 1
	SSHKeysAppend     = 1
	SSHKeysRemove     = 2
)
