package server

import (
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindAgent(p *program) {
	bind(p, remote.ProcDomainAgentSetResponseTimeout, func(q *request, a *remote.DomainIntFlags, _ *remote.Int) error {
		return q.backend.SetAgentTimeout(q.ctx, a.UUID, a.N)
	})
	bind(p, remote.ProcDomainGetGuestInfo, func(q *request, a *remote.DomainUintFlags, r *remote.EventParams) (err error) {
		r.Params, err = q.backend.GuestInfo(q.conn.asked, a.UUID, a.N)
		r.Params = r.Params[:min(len(r.Params), remote.MaxParams)]
		return err
	})
	bind(p, remote.ProcDomainGetHostname, func(q *request, a *remote.DomainFlags, r *remote.String) (err error) {
		if a.Flags == HostnameLease|HostnameAgent {
			return virterr.New(virterr.InvalidArg, "the name comes from a lease or from the agent, not from both").In(virterr.FromDom)
		}
		if a.Flags == 0 {
			a.Flags = HostnameAgent
		}
		r.S, err = q.backend.GuestHostname(q.conn.asked, a.UUID, a.Flags)
		return err
	})
	bindAgentFilesystems(p)
	bind(p, remote.ProcDomainGetTime, func(q *request, a *remote.DomainFlags, r *remote.GuestTime) error {
		t, err := q.backend.GuestTime(q.conn.asked, a.UUID)
		r.Seconds, r.Nanos = t.Unix(), uint32(t.Nanosecond())
		return err
	})
	bind(p, remote.ProcDomainSetTime, func(q *request, a *remote.SetTimeArgs, _ *xdr.Void) error {
		if a.Flags&SetTimeSync != 0 {
			return q.backend.SetGuestTime(q.conn.asked, a.UUID, time.Time{})
		}
		const last = 9223372035 // seconds whose nanoseconds an int64 holds
		if a.Seconds < 0 || a.Seconds > last || a.Nanos >= 1e9 {
			return virterr.New(virterr.InvalidArg, "Time '%d' is too big for guest agent", a.Seconds).In(virterr.FromDom)
		}
		return q.backend.SetGuestTime(q.conn.asked, a.UUID, time.Unix(a.Seconds, int64(a.Nanos)))
	})
	bind(p, remote.ProcDomainSetUserPassword, func(q *request, a *remote.PasswordArgs, _ *xdr.Void) error {
		return q.backend.SetGuestPassword(q.conn.asked, a.UUID, a.User.S, a.Password.S, a.Flags&PasswordEncrypted != 0)
	})
	bind(p, remote.ProcDomainGetGuestVCPUs, func(q *request, a *remote.DomainFlags, r *remote.EventParams) (err error) {
		r.Params, err = q.backend.GuestVCPUs(q.conn.asked, a.UUID)
		return err
	})
	bind(p, remote.ProcDomainSetGuestVCPUs, func(q *request, a *remote.GuestVCPUsArgs, _ *xdr.Void) error {
		if a.State != 0 && a.State != 1 {
			return virterr.New(virterr.InvalidArg, "unsupported state value %d; want 0 or 1", a.State).In(virterr.FromDom)
		}
		return q.backend.SetGuestVCPUs(q.conn.asked, a.UUID, a.CPUMap, a.State == 1)
	})
	bind(p, remote.ProcDomainAuthorizedSSHKeysGet, func(q *request, a *remote.DomainStringFlags, r *remote.Strings) (err error) {
		r.S, err = q.backend.GuestSSHKeys(q.conn.asked, a.UUID, a.S)
		r.S = r.S[:min(len(r.S), remote.MaxSSHKeys)]
		return err
	})
	bind(p, remote.ProcDomainAuthorizedSSHKeysSet, func(q *request, a *remote.SSHKeysArgs, _ *xdr.Void) error {
		if a.Flags == SSHKeysAppend|SSHKeysRemove {
			return virterr.New(virterr.InvalidArg, "keys are added or removed, not both").In(virterr.FromDom)
		}
		return q.backend.SetGuestSSHKeys(q.conn.asked, a.UUID, a.User, a.Keys, a.Flags)
	})
}

func bindAgentFilesystems(p *program) {
	bind(p, remote.ProcDomainFSFreeze, func(q *request, a *remote.DomainStringsFlags, r *remote.Int) (err error) {
		r.N, err = q.backend.FreezeFilesystems(q.conn.asked, a.UUID, a.S)
		return err
	})
	bind(p, remote.ProcDomainFSThaw, func(q *request, a *remote.DomainStringsFlags, r *remote.Int) (err error) {
		if len(a.S) > 0 {
			return virterr.New(virterr.ArgumentUnsupported, "specifying mountpoints is not supported").In(virterr.FromDom)
		}
		r.N, err = q.backend.ThawFilesystems(q.conn.asked, a.UUID)
		return err
	})
	bind(p, remote.ProcDomainFSTrim, func(q *request, a *remote.FSTrimArgs, _ *xdr.Void) error {
		if a.MountPoint.Set {
			return virterr.New(virterr.ArgumentUnsupported, "Specifying mount point is not supported for now").In(virterr.FromDom)
		}
		return q.backend.TrimFilesystems(q.conn.asked, a.UUID, a.Minimum)
	})
	bind(p, remote.ProcDomainGetFSInfo, func(q *request, a *remote.DomainFlags, r *remote.FSInfos) error {
		all, err := q.backend.GuestFilesystems(q.conn.asked, a.UUID)
		for _, f := range all[:min(len(all), remote.MaxMountpoints)] {
			r.Infos = append(r.Infos, remote.FSInfo{Mountpoint: f.Mountpoint, Name: f.Name, Type: f.Type, Disks: f.Disks[:min(len(f.Disks), remote.MaxFSDisks)]})
		}
		r.N = uint32(len(r.Infos))
		return err
	})
}

// guestVCPUs is how many processors the guest itself uses. Asking it is more than reading.
func guestVCPUs(q *request, a *remote.DomainFlags) (int32, error) {
	switch {
	case q.conn.isReadOnly():
		return 0, virterr.New(virterr.OperationDenied, "read only access prevents virDomainGetVcpusFlags from the agent").In(virterr.FromDom)
	case a.Flags&VCPUConfig != 0:
		return 0, virterr.New(virterr.InvalidArg, "the guest has no say in the definition of a domain").In(virterr.FromDom)
	}
	return q.backend.GuestVCPUCount(q.conn.asked, a.UUID, a.Flags&VCPUMaximum != 0)
}
