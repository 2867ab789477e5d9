package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"taproom/internal/api/virterr"
	"taproom/internal/qemu"
)

// Session is the user whose guests a daemon without root runs. They run as that user; there are no networks, and a cgroup
// for each only where one was handed to the daemon.
type Session struct{ UID, GID uint32 }

// OwnSession is the session of this process's user; nil for root, whose daemon is the machine's.
func OwnSession() *Session {
	if os.Geteuid() == 0 {
		return nil
	}
	return &Session{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
}

// URI is what libvirt's clients call a session's daemon or, of nil, the machine's.
func (s *Session) URI() string {
	if s == nil {
		return "qemu:///system"
	}
	return "qemu:///session"
}

// begin are the steps from nothing to an engine that serves.
func (e *Engine) begin() []func(context.Context) error {
	if e.cfg.Session == nil {
		return []func(context.Context) error{
			e.openPlaces, e.openHooks, e.openAllocators, e.openFacts, e.loadDefinitions, e.recallSaves, e.openStorage,
			e.openFabric, e.openFilters, e.openLAN, e.learnLinks, e.takeOver, e.followLinks, e.followRules, e.pollSettings, e.followGuestNames, e.followTargets, e.tendLogs, e.autostart, e.keepZones,
		}
	}
	e.fabric = &fabric{}
	return []func(context.Context) error{
		e.openHome, e.openPlaces, e.openHooks, e.openAllocators, e.openFacts, e.loadDefinitions, e.recallSaves, e.openStorage, e.openFilters, e.takeOverGuests, e.tendLogs, e.autostart,
	}
}

// openHome makes the user's own directories, for nobody else to look into, and removes run directories of earlier boots.
func (e *Engine) openHome(context.Context) error {
	for _, dir := range []string{e.paths.Config, e.paths.Lib, e.paths.Cache, e.paths.Log} {
		if err := e.k.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	own := filepath.Base(e.paths.Run)
	if !strings.HasPrefix(own, formerRuns) {
		return nil
	}
	entries, err := e.k.ReadDir(filepath.Dir(e.paths.Run))
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, formerRuns) && name != own {
			if err := e.k.RemoveAll(filepath.Join(filepath.Dir(e.paths.Run), name)); err != nil {
				e.log.Warn("the run directory of an earlier boot stays", "error", err)
			}
		}
	}
	return err
}

// takeOverGuests is takeOver where guests are all there is.
func (e *Engine) takeOverGuests(ctx context.Context) error {
	guests, err := e.recallGuests(ctx)
	if err != nil {
		return err
	}
	if err := e.findOrphans(ctx, guests); err != nil {
		return err
	}
	e.restoreFilters(ctx, guests)
	return e.sweep(guests)
}

// users hand out who guests run as.
type users interface {
	Take() (uint32, error)
	Reserve(uid uint32) error
	Release(uid uint32)
}

// sameUser is the one user that all guests of a session run as.
type sameUser uint32

// Take implements users.
func (u sameUser) Take() (uint32, error) { return uint32(u), nil }

// Reserve implements users.
func (sameUser) Reserve(uint32) error { return nil }

// Release implements users.
func (sameUser) Release(uint32) {}

// confinement is who QEMU runs as.
func (e *Engine) confinement(uid uint32) qemu.Confinement {
	if s := e.cfg.Session; s != nil {
		return qemu.Confinement{UID: s.UID, GID: s.GID}
	}
	return qemu.Confinement{UID: uid, GID: uid}
}

// give makes a file a guest's user's. A session's files are its guests' already.
func (e *Engine) give(path string, uid, gid uint32) error {
	if e.cfg.Session != nil {
		return nil
	}
	return e.k.Chown(path, int(uid), int(gid))
}

// openCgroup finds where guests' cgroups hang. A session has one where the service manager handed it its own part of the
// tree (Delegate=yes); without one guests are known by their pid files.
func (e *Engine) openCgroup() error {
	if e.cfg.Session != nil {
		own, err := e.k.DelegatedCgroup()
		if own == "" || err != nil {
			return err
		}
		e.cgroup = filepath.Join(own, e.cfg.Identity.Slice)
		return e.k.MakeCgroup(e.cgroup)
	}
	root, err := e.k.CgroupRoot()
	if err != nil {
		return fmt.Errorf("guests need a cgroup each: %w", err)
	}
	e.cgroup = filepath.Join(root, e.cfg.Identity.Slice)
	return e.k.MakeCgroup(e.cgroup)
}

// needsRoot refuses what a session cannot do.
func needsRoot(what string) error {
	return virterr.New(virterr.OperationUnsupported,
		"%s needs root, and this is qemu:///session; connect to qemu:///system, or give the guest <interface type='user'/>", what)
}
