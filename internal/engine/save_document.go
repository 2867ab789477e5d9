package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/guest/plug"
	"taproom/internal/spec"
)

// document makes the document that is saved with the state, or checks the client's. It refuses, while the guest still runs,
// a machine that could not be restored.
func (s *savingJob) document(ctx context.Context) error {
	if err := s.e.settleFirst(ctx, s.d, s.run); err != nil {
		return monitorError(s.d, "save", err)
	}
	doc, err := s.machine(ctx)
	if err != nil {
		return err
	}
	if err := s.restorable(ctx, doc); err != nil {
		return virterr.New(virterr.OperationFailed, "cannot save domain '%s': it could not be restored: %w; take back what was changed of it while it ran, or shut it down", s.d.label, err)
	}
	if s.request.XML != "" {
		wanted, err := s.e.otherDocument(s.e.ctx, doc, s.request.XML)
		if err != nil {
			return err
		}
		doc = wanted
	}
	s.header.XML = doc.Format()
	switch running := s.d.view().ref.State == server.DomainRunning; {
	case s.request.Flags&server.SaveRunning != 0:
		s.header.Running = true
	case s.request.Flags&server.SavePaused != 0:
	default:
		s.header.Running = running
	}
	return nil
}

// restorable returns the difference that the guest would notice if it were saved and restored with a document: it compares
// QEMU's command line of the running guest with that of the restored guest.
func (s *savingJob) restorable(ctx context.Context, doc *spec.Domain) error {
	rt := *s.run.rt()
	runs, err := s.e.compileGuest(doc, rt)
	if err != nil {
		return err
	}
	restored, err := s.e.completeSaved(ctx, doc.Format())
	if err != nil {
		return err
	}
	rt.Pins = guest.Pins{}
	again, err := s.e.compileGuest(restored, rt)
	if err != nil {
		return err
	}
	return guest.DifferentMachine(runs.Config, again.Config)
}

// machine is the document of the guest as it is now, with all that its machine depends on.
func (s *savingJob) machine(ctx context.Context) (*spec.Domain, error) {
	doc, rec := s.run.doc().Clone(), s.run.rec()
	guest.AdjustClock(doc, rec.Adjustment)
	doc.CurrentMemory = &spec.Memory{Unit: "KiB", Value: strconv.FormatUint(s.run.balloonKiB.Load(), 10)}
	if rec.Pins.VCPUs > 0 { // a record of an earlier build has a document that does not say which were plugged in
		doc.PlugVCPUs(rec.Pins.VCPUs, rec.Pins.Added)
	}
	if len(doc.Devices.Memories) == 0 {
		return doc, nil
	}
	// A module's address depends on earlier plugging and unplugging, so QEMU is asked for it.
	bases, err := s.run.memoryBases(ctx)
	if err != nil {
		return nil, monitorError(s.d, "save", err)
	}
	for i := range doc.Devices.Memories {
		m := &doc.Devices.Memories[i]
		base, there := bases[m.Alias.Name]
		if !there {
			return nil, virterr.New(virterr.OperationFailed, "cannot save domain '%s': its QEMU has no memory module %s; detach it, and save the domain again", s.d.label, m.Alias.Name)
		}
		m.Address.Base = fmt.Sprintf("0x%x", base)
	}
	return doc, nil
}

// memoryBases are the first addresses of memory modules, by name.
func (run *running) memoryBases(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var modules []struct {
		Data struct {
			ID   string `json:"id"`
			Addr uint64 `json:"addr"`
		} `json:"data"`
	}
	if err := run.mon.Execute(ctx, "query-memory-devices", nil, &modules); err != nil {
		return nil, err
	}
	out := map[string]uint64{}
	for _, m := range modules {
		out[m.Data.ID] = m.Data.Addr
	}
	return out, nil
}

// complete refuses to save a guest that let go of a device after its document was made: the processors stand still now, and
// the device would be there again after a restore.
func (s *savingJob) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	h := s.run.hardware()
	c, err := s.e.compileGuest(h.doc, h.rt)
	if err != nil {
		return err
	}
	var seen plug.Observed
	if err := s.run.mon.ExecuteBatch(ctx, seen.Queries()); err != nil {
		return err
	}
	if gone := seen.Missing(c.Config); len(gone) > 0 {
		return virterr.New(virterr.OperationFailed, "domain '%s' let go of %s just now, after a request to detach it; save it again", s.d.label, strings.Join(gone, ", "))
	}
	return nil
}

// otherDocument reads a client's replacement for a saved document: the machine that the guest sees must be the same.
func (e *Engine) otherDocument(ctx context.Context, saved *spec.Domain, xml string) (*spec.Domain, error) {
	wanted, err := e.completeSaved(ctx, []byte(xml))
	if err != nil {
		return nil, err
	}
	guest.Inherit(saved, wanted)
	saved = saved.Clone()
	guest.Inherit(wanted, saved) // an image of an earlier build does not say which virtual CPUs were plugged in
	if err := guest.SameMachine(saved, wanted); err != nil {
		return nil, virterr.New(virterr.ConfigUnsupported, "the document does not fit the saved state of domain '%s': %w", saved.Name, err)
	}
	return wanted, nil
}
