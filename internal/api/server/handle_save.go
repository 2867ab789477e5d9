package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindSaves(p *program) {
	bind(p, remote.ProcDomainSave, watched(func(q *request, a *remote.DomainString, _ *xdr.Void) error {
		return q.backend.SaveDomain(q.ctx, a.UUID, SaveRequest{Path: a.S})
	}))
	bind(p, remote.ProcDomainSaveFlags, watched(func(q *request, a *remote.DomainSaveArgs, _ *xdr.Void) error {
		return q.backend.SaveDomain(q.ctx, a.UUID, SaveRequest{Path: a.To, XML: a.XML.S, Flags: a.Flags})
	}))
	bind(p, remote.ProcDomainSaveParams, watched(func(q *request, a *remote.DomainParamsArgs, _ *xdr.Void) error {
		r, err := saveRequest(a.Params, a.Flags, true)
		switch {
		case err != nil:
			return err
		case r.Path == "": // as libvirt has it
			return q.backend.ManagedSave(q.ctx, a.UUID, r)
		}
		return q.backend.SaveDomain(q.ctx, a.UUID, r)
	}))
	bind(p, remote.ProcDomainRestore, func(q *request, a *remote.String, _ *xdr.Void) error {
		return q.backend.RestoreDomain(q.ctx, SaveRequest{Path: a.S})
	})
	bind(p, remote.ProcDomainRestoreFlags, func(q *request, a *remote.RestoreArgs, _ *xdr.Void) error {
		return q.backend.RestoreDomain(q.ctx, SaveRequest{Path: a.From, XML: a.XML.S, Flags: a.Flags})
	})
	bind(p, remote.ProcDomainRestoreParams, func(q *request, a *remote.ParamsFlags, _ *xdr.Void) error {
		r, err := saveRequest(a.Params, a.Flags, false)
		if err != nil {
			return err
		}
		return q.backend.RestoreDomain(q.ctx, r)
	})
	bind(p, remote.ProcDomainSaveImageGetXMLDesc, func(q *request, a *remote.StringFlags, r *remote.String) (err error) {
		r.S, err = q.backend.SavedImageXML(q.ctx, a.S, a.Flags)
		return err
	})
	bind(p, remote.ProcDomainSaveImageDefineXML, func(q *request, a *remote.SaveImageArgs, _ *xdr.Void) error {
		return q.backend.DefineSavedImage(q.ctx, a.File, a.XML, a.Flags)
	})
	bindManagedSaves(p)
	bindDumps(p)
	bindJobControl(p)
}

// saveRequest reads typed parameters; one that is not known is refused.
func saveRequest(params []remote.TypedParam, flags uint32, save bool) (SaveRequest, error) {
	r := SaveRequest{Flags: flags}
	places := map[string]*string{saveParamFile: &r.Path, saveParamXML: &r.XML}
	if save {
		places[saveParamFormat] = &r.Format
	}
	for _, p := range params {
		place := places[p.Field]
		switch {
		case place == nil:
			return r, virterr.New(virterr.ArgumentUnsupported, "parameter '%s' not supported", p.Field)
		case p.Type != remote.ParamString:
			return r, virterr.New(virterr.InvalidArg, "parameter '%s' has to be a string", p.Field)
		case *place != "":
			return r, virterr.New(virterr.InvalidArg, "parameter '%s' occurs multiple times", p.Field)
		}
		*place = p.S
	}
	return r, nil
}

func bindManagedSaves(p *program) {
	bind(p, remote.ProcDomainManagedSave, watched(func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return q.backend.ManagedSave(q.ctx, a.UUID, SaveRequest{Flags: a.Flags})
	}))
	bind(p, remote.ProcDomainManagedSaveRemove, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		return q.backend.RemoveManagedSave(q.ctx, a.UUID)
	})
	bind(p, remote.ProcDomainManagedSaveGetXMLDesc, func(q *request, a *remote.DomainFlags, r *remote.String) (err error) {
		if a.Flags&SavedXMLSecure != 0 && q.conn.isReadOnly() {
			return virterr.New(virterr.OperationDenied, "virDomainManagedSaveGetXMLDesc with secure flag").In(virterr.FromDom)
		}
		r.S, err = q.backend.ManagedSaveXML(q.ctx, a.UUID, a.Flags)
		return err
	})
	bind(p, remote.ProcDomainManagedSaveDefineXML, func(q *request, a *remote.DomainOptStringFlags, _ *xdr.Void) error {
		return q.backend.DefineManagedSave(q.ctx, a.UUID, a.S.S, a.Flags)
	})
	bind(p, remote.ProcDomainHasManagedSaveImage, func(q *request, a *remote.DomainFlags, r *remote.Int) error {
		d, err := q.backend.DomainByUUID(a.UUID)
		r.N = flag(d.ManagedSave)
		return err
	})
}

func bindDumps(p *program) {
	bind(p, remote.ProcDomainCoreDump, watched(func(q *request, a *remote.DomainStringFlags, _ *xdr.Void) error {
		return q.backend.DumpDomain(q.ctx, a.UUID, DumpRequest{Path: a.S, Flags: a.Flags})
	}))
	bind(p, remote.ProcDomainCoreDumpWithFormat, watched(func(q *request, a *remote.CoreDumpArgs, _ *xdr.Void) error {
		if a.Format >= coreDumpFormats {
			return virterr.New(virterr.InvalidArg, "core dump format %d is not known", a.Format).In(virterr.FromDom)
		}
		return q.backend.DumpDomain(q.ctx, a.UUID, DumpRequest{Path: a.To, Format: a.Format, Flags: a.Flags})
	}))
}

func bindJobControl(p *program) {
	bind(p, remote.ProcDomainGetJobInfo, func(q *request, a *remote.Domain, r *remote.JobInfo) error {
		j, err := q.backend.DomainJob(q.ctx, a.UUID, false, false)
		r.Type = j.Type
		r.Figures = [11]uint64{
			j.Elapsed, j.Remaining, j.Data.Total, j.Data.Processed, j.Data.Remaining,
			j.Memory.Total, j.Memory.Processed, j.Memory.Remaining,
		}
		return err
	})
	bind(p, remote.ProcDomainGetJobStats, func(q *request, a *remote.DomainFlags, r *remote.JobStats) error {
		j, err := q.backend.DomainJob(q.ctx, a.UUID, a.Flags&jobCompletedStats != 0, a.Flags&jobKeepCompleted != 0)
		if r.Type = j.Type; j.Type != JobNone {
			r.Params = j.Params()
		}
		return err
	})
	bind(p, remote.ProcDomainAbortJob, func(q *request, a *remote.Domain, _ *xdr.Void) error {
		return q.backend.AbortDomainJob(q.ctx, a.UUID)
	})
	bind(p, remote.ProcDomainAbortJobFlags, func(q *request, a *remote.DomainFlags, _ *xdr.Void) error {
		if a.Flags&abortJobPostCopy != 0 {
			return virterr.New(virterr.OperationInvalid, "no post-copy migration is under way; there is no migration here")
		}
		return q.backend.AbortDomainJob(q.ctx, a.UUID)
	})
}
