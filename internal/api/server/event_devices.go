package server

import "taproom/internal/api/remote"

// DomainIOError is a disk that failed.
type DomainIOError struct {
	Domain      Domain
	Path, Alias string
	Action      int32
	Reason      string
}

func (e DomainIOError) forms() []form {
	return []form{
		domainForm(e.Domain, remote.EventIOError, remote.ProcDomainEventCallbackIOError, remote.ProcDomainEventIOError,
			text(e.Path), text(e.Alias), number(e.Action)),
		domainForm(e.Domain, remote.EventIOErrorReason, remote.ProcDomainEventCallbackIOErrorReason, remote.ProcDomainEventIOErrorReason,
			text(e.Path), text(e.Alias), number(e.Action), text(e.Reason)),
	}
}

// DomainGraphics is a client of a guest's display: it connected, was let in, or left (Phase 0, 1, 2).
type DomainGraphics struct {
	Domain        Domain
	Phase         int32
	Local, Remote remote.GraphicsAddress
	AuthScheme    string
	Identities    []remote.GraphicsIdentity
}

func (e DomainGraphics) forms() []form {
	return []form{domainForm(e.Domain, remote.EventGraphics, remote.ProcDomainEventCallbackGraphics, remote.ProcDomainEventGraphics,
		number(e.Phase), &e.Local, &e.Remote, text(e.AuthScheme), &remote.GraphicsIdentities{Identities: e.Identities})}
}

// DomainBlockJob is a job on a disk: Type and Status are libvirt's numbers (virDomainBlockJobType, virConnectDomainEventBlockJobStatus).
// It is told twice: by the path of the disk's source, and by its target.
type DomainBlockJob struct {
	Domain       Domain
	Path, Target string
	Type, Status int32
}

func (e DomainBlockJob) forms() []form {
	return []form{
		domainForm(e.Domain, remote.EventBlockJob, remote.ProcDomainEventCallbackBlockJob, remote.ProcDomainEventBlockJob,
			text(e.Path), number(e.Type), number(e.Status)),
		domainForm(e.Domain, remote.EventBlockJob2, remote.ProcDomainEventBlockJob2, 0,
			text(e.Target), number(e.Type), number(e.Status)),
	}
}

// DomainDiskChange is a medium that was taken out at a start because it is not there (Reason 0: changed, 1: dropped).
type DomainDiskChange struct {
	Domain Domain
	Old    string // path; "" for none
	New    string
	Alias  string
	Reason int32
}

func (e DomainDiskChange) forms() []form {
	return []form{domainForm(e.Domain, remote.EventDiskChange, remote.ProcDomainEventCallbackDiskChange, remote.ProcDomainEventDiskChange,
		optional(e.Old), optional(e.New), text(e.Alias), number(e.Reason))}
}

// DomainTrayChange is a drive whose tray was opened (Reason 0) or closed (1), by the guest or from outside.
type DomainTrayChange struct {
	Domain Domain
	Alias  string
	Reason int32
}

func (e DomainTrayChange) forms() []form {
	return []form{domainForm(e.Domain, remote.EventTrayChange, remote.ProcDomainEventCallbackTrayChange, remote.ProcDomainEventTrayChange,
		text(e.Alias), number(e.Reason))}
}

// DomainDeviceAdded is a device that was plugged.
type DomainDeviceAdded struct {
	Domain Domain
	Alias  string
}

func (e DomainDeviceAdded) forms() []form {
	return []form{domainForm(e.Domain, remote.EventDeviceAdded, remote.ProcDomainEventCallbackDeviceAdded, 0, text(e.Alias))}
}

// DomainDeviceRemoved is a device the guest let go.
type DomainDeviceRemoved struct {
	Domain Domain
	Alias  string
}

func (e DomainDeviceRemoved) forms() []form {
	return []form{domainForm(e.Domain, remote.EventDeviceRemoved, remote.ProcDomainEventCallbackDeviceRemoved, remote.ProcDomainEventDeviceRemoved, text(e.Alias))}
}

// DomainDeviceRemovalFailed is a device the guest would not let go.
type DomainDeviceRemovalFailed struct {
	Domain Domain
	Alias  string
}

func (e DomainDeviceRemovalFailed) forms() []form {
	return []form{domainForm(e.Domain, remote.EventDeviceRemovalFailed, remote.ProcDomainEventCallbackDeviceRemovalFailed, 0, text(e.Alias))}
}

// DomainBlockThreshold is a guest that wrote behind a place in an image that was to be told.
type DomainBlockThreshold struct {
	Domain            Domain
	Device, Path      string // the path may be ""
	Threshold, Excess uint64 // bytes
}

func (e DomainBlockThreshold) forms() []form {
	return []form{domainForm(e.Domain, remote.EventBlockThreshold, remote.ProcDomainEventBlockThreshold, 0,
		text(e.Device), optional(e.Path), size(e.Threshold), size(e.Excess))}
}

// DomainMemoryDeviceSize is a virtio-mem device whose guest gave memory back, or took it.
type DomainMemoryDeviceSize struct {
	Domain  Domain
	Alias   string
	SizeKiB uint64
}

func (e DomainMemoryDeviceSize) forms() []form {
	return []form{domainForm(e.Domain, remote.EventMemoryDeviceSizeChange, remote.ProcDomainEventMemoryDeviceSizeChange, 0,
		text(e.Alias), size(e.SizeKiB))}
}

// DomainNICMAC is a guest that gave a NIC another MAC address.
type DomainNICMAC struct {
	Domain          Domain
	Alias, Old, New string
}

func (e DomainNICMAC) forms() []form {
	return []form{domainForm(e.Domain, remote.EventNICMACChange, remote.ProcDomainEventNICMACChange, 0, text(e.Alias), text(e.Old), text(e.New))}
}
