package servertest

import (
	"context"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// AgentCommand implements server.GuestAgents: it says what it was told.
func (f *Fake) AgentCommand(_ context.Context, uuid spec.UUID, command string, _ int32) (string, error) {
	return command, f.change("AgentCommand", uuid, running)
}

// SetAgentTimeout implements server.GuestAgents.
func (f *Fake) SetAgentTimeout(_ context.Context, uuid spec.UUID, _ int32) error {
	return f.change("SetAgentTimeout", uuid, running)
}

// GuestInfo implements server.GuestAgents.
func (f *Fake) GuestInfo(_ context.Context, uuid spec.UUID, _ uint32) ([]server.Param, error) {
	return []server.Param{remote.StringParam("os.id", "debian"), remote.UintParam("user.count", 0)}, f.change("GuestInfo", uuid, running)
}

// GuestHostname implements server.GuestAgents.
func (f *Fake) GuestHostname(_ context.Context, uuid spec.UUID, source uint32) (string, error) {
	names := map[uint32]string{server.HostnameLease: "leased", server.HostnameAgent: "told"}
	return names[source], f.change("GuestHostname", uuid, running)
}

// FreezeFilesystems implements server.GuestAgents.
func (f *Fake) FreezeFilesystems(_ context.Context, uuid spec.UUID, mountpoints []string) (int32, error) {
	return int32(3 + len(mountpoints)), f.change("FreezeFilesystems", uuid, running)
}

// ThawFilesystems implements server.GuestAgents.
func (f *Fake) ThawFilesystems(_ context.Context, uuid spec.UUID) (int32, error) {
	return 3, f.change("ThawFilesystems", uuid, running)
}

// TrimFilesystems implements server.GuestAgents.
func (f *Fake) TrimFilesystems(_ context.Context, uuid spec.UUID, _ uint64) error {
	return f.change("TrimFilesystems", uuid, running)
}

// GuestFilesystems implements server.GuestAgents.
func (f *Fake) GuestFilesystems(_ context.Context, uuid spec.UUID) ([]server.GuestFilesystem, error) {
	return []server.GuestFilesystem{{Mountpoint: "/", Name: "vda1", Type: "ext4", Disks: []string{"vda", "vdb"}}}, f.change("GuestFilesystems", uuid, running)
}

// GuestTime implements server.GuestAgents.
func (f *Fake) GuestTime(_ context.Context, uuid spec.UUID) (time.Time, error) {
	return time.Unix(1700000000, 5), f.change("GuestTime", uuid, running)
}

// SetGuestTime implements server.GuestAgents.
func (f *Fake) SetGuestTime(_ context.Context, uuid spec.UUID, _ time.Time) error {
	return f.change("SetGuestTime", uuid, running)
}

// SetGuestPassword implements server.GuestAgents.
func (f *Fake) SetGuestPassword(_ context.Context, uuid spec.UUID, _, _ string, _ bool) error {
	return f.change("SetGuestPassword", uuid, running)
}

// GuestVCPUs implements server.GuestAgents.
func (f *Fake) GuestVCPUs(_ context.Context, uuid spec.UUID) ([]server.Param, error) {
	return []server.Param{remote.StringParam("vcpus", "0-1"), remote.StringParam("online", "0"), remote.StringParam("offlinable", "1")}, f.change("GuestVCPUs", uuid, running)
}

// SetGuestVCPUs implements server.GuestAgents.
func (f *Fake) SetGuestVCPUs(_ context.Context, uuid spec.UUID, _ string, _ bool) error {
	return f.change("SetGuestVCPUs", uuid, running)
}

// GuestVCPUCount implements server.GuestAgents.
func (f *Fake) GuestVCPUCount(_ context.Context, uuid spec.UUID, most bool) (int32, error) {
	n := int32(1)
	if most {
		n = 2
	}
	return n, f.change("GuestVCPUCount", uuid, running)
}

// SetGuestVCPUCount implements server.GuestAgents.
func (f *Fake) SetGuestVCPUCount(_ context.Context, uuid spec.UUID, _ uint32) error {
	return f.change("SetGuestVCPUCount", uuid, running)
}

// GuestSSHKeys implements server.GuestAgents.
func (f *Fake) GuestSSHKeys(_ context.Context, uuid spec.UUID, user string) ([]string, error) {
	return []string{"ssh-ed25519 AAAA " + user}, f.change("GuestSSHKeys", uuid, running)
}

// SetGuestSSHKeys implements server.GuestAgents.
func (f *Fake) SetGuestSSHKeys(_ context.Context, uuid spec.UUID, _ string, _ []string, _ uint32) error {
	return f.change("SetGuestSSHKeys", uuid, running)
}

// MonitorCommand implements server.Monitors: it says what it was told.
func (f *Fake) MonitorCommand(_ context.Context, uuid spec.UUID, command string, human bool) (string, error) {
	if human {
		command = "human " + command
	}
	return command, f.change("MonitorCommand", uuid, running)
}
