package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taproom/internal/host"
)

// The suffixes of a bridge's files. libnss_libvirt reads the first, libnss_libvirt_guest both; the third is nobody's but
// ours, and says that the other two are.
const (
	statusSuffix = ".status"
	macsSuffix   = ".macs"
	oursSuffix   = ".taproom"
)

// guestNames are the files by which programs on the host find guests by name: those that libvirt's name service modules
// read. One goroutine uses it.
type guestNames struct {
	k   *host.Kernel
	log *slog.Logger
	dir string

	off     bool                   // the directory is somebody else's
	there   map[string]bool        // bridges that had files when it was looked at, whoever's
	written map[string]bridgeFiles // what bridges' files hold
}

// bridgeFiles are those of a bridge. Where there is nothing to say, and was nothing, there are none.
type bridgeFiles struct {
	ours         bool // that they are is written beside them
	status, macs string
}

func newGuestNames(k *host.Kernel, log *slog.Logger, dir string) *guestNames {
	return &guestNames{k: k, log: log, dir: dir, there: map[string]bool{}, written: map[string]bridgeFiles{}}
}

// open looks at the directory, and removes what an earlier daemon left of bridges that are not there any more.
func (g *guestNames) open(active func(bridge string) bool) error {
	uid, mode, err := g.k.Owner(g.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !mode.IsDir() || uid != os.Geteuid() || mode.Perm()&0o022 != 0:
		g.off = true
		g.log.Warn("libnss_libvirt does not find guests by name: its directory belongs to somebody else, and stays as it is",
			"directory", g.dir, "user", uid, "mode", mode, "remedy", "chown "+fmt.Sprint(os.Geteuid())+" "+g.dir+" && chmod 755 "+g.dir+", and start the daemon again")
		return nil
	}
	if _, err := g.k.SweepTemp(g.dir); err != nil {
		return err
	}
	entries, err := g.k.ReadDir(g.dir)
	for _, entry := range entries {
		for _, suffix := range []string{statusSuffix, macsSuffix, oursSuffix} {
			if bridge, is := strings.CutSuffix(entry.Name(), suffix); is {
				g.there[bridge] = true
			}
		}
		if bridge, ours := strings.CutSuffix(entry.Name(), oursSuffix); ours && !active(bridge) {
			err = errors.Join(err, g.remove(bridge))
		}
	}
	return err
}

// put makes a bridge's files hold this, one of them or both; nil leaves a file as it is. They are replaced, so that whoever
// reads one meanwhile reads a whole one.
func (g *guestNames) put(bridge string, status, macs []byte) error {
	had, known := g.written[bridge]
	if !known && !g.there[bridge] {
		had.status, had.macs = nobody, nobody
	}
	defer func() { g.written[bridge] = had }()
	var errs []error
	for _, f := range []struct {
		suffix string
		data   []byte
		had    *string
	}{{statusSuffix, status, &had.status}, {macsSuffix, macs, &had.macs}} {
		if f.data == nil || string(f.data) == *f.had {
			continue
		}
		if err := g.own(bridge, &had); err != nil {
			return err
		}
		err := g.k.WriteFile(g.path(bridge, f.suffix), f.data, 0o644, false)
		if err == nil {
			*f.had = string(f.data)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// own says that a bridge's files are ours, before there are any.
func (g *guestNames) own(bridge string, had *bridgeFiles) error {
	if had.ours {
		return nil
	}
	err := g.k.Mkdir(g.dir, 0o755)
	if err == nil {
		err = g.k.WriteFile(g.path(bridge, oursSuffix), []byte("written by taproomd; goes with the bridge\n"), 0o644, false)
	}
	had.ours = err == nil
	return err
}

// remove removes a bridge's files. What says that they are ours goes last, so that a daemon that dies is no trouble.
func (g *guestNames) remove(bridge string) error {
	f, known := g.written[bridge]
	delete(g.written, bridge)
	if known && !f.ours {
		return nil
	}
	for _, suffix := range []string{statusSuffix, macsSuffix, oursSuffix} {
		if err := g.k.Remove(g.path(bridge, suffix)); err != nil {
			return err
		}
	}
	delete(g.there, bridge)
	return nil
}

// keep removes the files of all bridges but these.
func (g *guestNames) keep(active func(bridge string) bool) error {
	var errs []error
	for _, bridge := range slices.Sorted(maps.Keys(g.written)) {
		if !active(bridge) {
			errs = append(errs, g.remove(bridge))
		}
	}
	return errors.Join(errs...)
}

func (g *guestNames) path(bridge, suffix string) string { return filepath.Join(g.dir, bridge+suffix) }

// activeBridges are the bridges of networks that are up, with those.
func (e *Engine) activeBridges() map[string]*network {
	m := map[string]*network{}
	for _, n := range e.networks.all() {
		if v := n.view(); v.live != nil {
			m[v.ref.Bridge] = n
		}
	}
	return m
}

// writeGuestNames brings the files of bridges up to date. Of those whose leases changed, the leases are asked for.
func (e *Engine) writeGuestNames(ctx context.Context, g *guestNames, what changedNames) error {
	active := e.activeBridges()
	errs := []error{g.keep(func(bridge string) bool { return active[bridge] != nil })}
	macs := e.macsOfGuests()
	for _, bridge := range slices.Sorted(maps.Keys(active)) {
		n := active[bridge]
		v := n.view()
		var status []byte
		if _, known := g.written[bridge]; v.live != nil && (!known || what.all || what.leases[n.uuid]) {
			leases, err := e.given(ctx, n, v, "")
			if err != nil {
				errs = append(errs, err)
				continue
			}
			status = statusFile(n.uuid, leases)
		}
		errs = append(errs, g.put(bridge, status, macsFile(macs[n.label])))
	}
	return errors.Join(errs...)
}
