package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"taproom/internal/api/virterr"
	"taproom/internal/network/state"
	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// orphans are guests that run and that no record names any more, because it was damaged or removed. Nobody could talk
// to their QEMU without what stood there; so they are left running, keep their links, and can only be ended.
type orphans struct {
	mu     sync.Mutex
	byUUID map[spec.UUID]*orphan
}

type orphan struct {
	uuid   spec.UUID
	label  string // of its definition; "" when it has none
	pid    int
	uid    uint32
	cgroup string // "" where guests have none
	links  state.State
	over   chan struct{} // closed when nothing of it is left
}

// guestCgroup is what the names of guests' cgroups begin with; their UUID follows.
const guestCgroup = "guest-"

// findOrphans looks for guests beside those that were adopted, and removes what is left of ones that have ended.
func (e *Engine) findOrphans(ctx context.Context, guests []*running) error {
	known := map[spec.UUID]bool{}
	for _, g := range guests {
		known[g.rec().UUID] = true
	}
	found, err := e.orphanCgroups(ctx, known)
	if err == nil && e.cfg.Session != nil { // one without a cgroup, or in one that another daemon was handed
		for _, o := range found {
			known[o.uuid] = true
		}
		var more []*orphan
		more, err = e.orphanFiles(known)
		found = append(found, more...)
	}
	if err != nil || len(found) == 0 {
		return err
	}
	got, err := state.Observe(ctx, e.env(), e.everything(state.State{}))
	if err != nil {
		return err
	}
	for _, o := range found {
		e.takeIn(o, got.State)
	}
	return nil
}

// orphanCgroups looks for guests that nobody knows by their cgroups.
func (e *Engine) orphanCgroups(ctx context.Context, known map[spec.UUID]bool) (found []*orphan, err error) {
	if e.cgroup == "" {
		return nil, nil
	}
	entries, err := e.k.ReadDir(e.cgroup)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, ok := strings.CutPrefix(entry.Name(), guestCgroup)
		uuid, err := spec.ParseUUID(name)
		if !ok || err != nil || known[uuid] || e.left.has(uuid) {
			continue
		}
		o := &orphan{uuid: uuid, cgroup: filepath.Join(e.cgroup, entry.Name()), over: make(chan struct{})}
		pids, err := e.k.CgroupProcs(o.cgroup)
		if err == nil && len(pids) == 0 {
			err = e.k.RemoveCgroup(ctx, o.cgroup)
		}
		if err != nil {
			return nil, err
		}
		if len(pids) > 0 {
			o.pid = e.qemuAmong(o.uuid, pids)
			found = append(found, o)
		}
	}
	return found, nil
}

// orphanFiles looks for them by the pid files in their directories.
func (e *Engine) orphanFiles(known map[spec.UUID]bool) (found []*orphan, err error) {
	entries, err := e.k.ReadDir(e.paths.Guests())
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		uuid, err := spec.ParseUUID(entry.Name())
		if err != nil || known[uuid] || e.left.has(uuid) {
			continue
		}
		p, err := e.processAt(e.pidFile(uuid))
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		over, err := p.Exited()
		if err := errors.Join(err, p.Close()); err != nil {
			return nil, err
		}
		if !over {
			found = append(found, &orphan{uuid: uuid, pid: p.PID, over: make(chan struct{})})
		}
	}
	return found, nil
}

// pidFile names a guest's QEMU.
func (e *Engine) pidFile(uuid spec.UUID) string {
	return places{dir: e.paths.Guest(uuid.String())}.pid()
}

// qemuAmong is which of a guest's processes is its QEMU: others serve devices of it, and end when it does.
func (e *Engine) qemuAmong(uuid spec.UUID, pids []int) int {
	if len(pids) > 1 {
		r, err := qemu.ReadPIDFile(e.k, places{dir: e.paths.Guest(uuid.String())}.pid())
		if err == nil && slices.Contains(pids, r.PID) {
			return r.PID
		}
	}
	return pids[0]
}

// takeIn keeps what an orphan has, and reports it.
func (e *Engine) takeIn(o *orphan, all state.State) {
	o.links = ownedBy(o.uuid.String(), all)
	for _, name := range linkNames(o.links) {
		e.reserveName(name)
	}
	e.keepAccess(o.uuid, all)
	var st unix.Stat_t
	e.k.Step("file stat of a process")
	if unix.Stat(fmt.Sprintf("/proc/%d", o.pid), &st) == nil {
		o.uid = st.Uid
		_ = e.uids.Reserve(o.uid)
	}
	if d, ok := e.domains.uuid(o.uuid); ok {
		o.label = d.label
	}
	e.orphans.mu.Lock()
	if e.orphans.byUUID == nil {
		e.orphans.byUUID = map[spec.UUID]*orphan{}
	}
	e.orphans.byUUID[o.uuid] = o
	e.orphans.mu.Unlock()
	what := o.Error()
	e.problem.add(e.log, what)
	e.work.Go(func() {
		if err := e.seeOff(o); err != nil {
			if e.ctx.Err() == nil {
				e.problem.add(e.log, fmt.Sprintf("domain %s ended and left something behind: %v", o.uuid, err))
			}
			return
		}
		e.problem.solved(what)
	})
}

// Error says what there is and what can be done about it.
func (o *orphan) Error() string {
	if o.label == "" {
		return fmt.Sprintf("domain %s runs on as process %d, but what was written down of it is damaged or gone, so it cannot be controlled; shut it down from inside, or end it with `kill %d`", o.uuid, o.pid, o.pid)
	}
	return fmt.Sprintf("domain '%s' runs on as process %d, but what was written down of it is damaged or gone, so it cannot be controlled; shut it down from inside, or end it with `virsh destroy %s`", o.label, o.pid, o.label)
}

// seeOff waits for the end of an orphan and removes what is left of it.
func (e *Engine) seeOff(o *orphan) error {
	if err := e.gone(e.ctx, o.uuid, o.cgroup); err != nil {
		return err
	}
	ctx := context.WithoutCancel(e.ctx)
	scope := o.links.Scope()
	scope.Owner = o.uuid.String()
	if _, err := e.converge(ctx, state.State{}, scope); err != nil {
		return err
	}
	if err := e.leaveSwitchAll(ctx, o.uuid.String()); err != nil {
		return err
	}
	if err := e.leaveAccess(ctx, o.uuid); err != nil {
		return err
	}
	if err := e.k.RemoveAll(e.paths.Guest(o.uuid.String())); err != nil {
		return err
	}
	if err := e.records.Delete(o.uuid.String()); err != nil { // one that could be read and not used
		return err
	}
	for _, name := range linkNames(o.links) {
		e.releaseName(name)
	}
	e.uids.Release(o.uid)
	e.orphans.mu.Lock()
	delete(e.orphans.byUUID, o.uuid)
	e.orphans.mu.Unlock()
	close(o.over)
	return nil
}

// of returns the orphan with that UUID, or nil.
func (s *orphans) of(uuid spec.UUID) *orphan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byUUID[uuid]
}

// links are what orphans have on the host.
func (s *orphans) links() state.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := state.State{}
	for _, o := range s.byUUID {
		out = out.Merge(o.links)
	}
	return out
}

// end ends an orphan, and waits until nothing of it is left.
func (e *Engine) end(ctx context.Context, o *orphan) error {
	if err := e.killGuest(o.uuid, o.cgroup); err != nil {
		return virterr.New(virterr.OperationFailed, "cannot destroy domain '%s': %w", o.label, err)
	}
	select {
	case <-o.over:
		return nil
	case <-ctx.Done():
		return virterr.New(virterr.OperationTimeout, "cannot destroy domain '%s': process %d does not end: %w", o.label, o.pid, context.Cause(ctx))
	}
}
