package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/qemu/companion"
	"taproom/internal/spec"
)

// virtiofsd prepares the program that shares a folder with a guest.
func (s *starting) virtiofsd(ctx context.Context, c guest.Companion) (companion.Program, error) {
	e, f := s.e, c.Share
	if e.cfg.Session != nil {
		return companion.Program{}, s.cannotShare("devices/filesystem", "virtiofsd shares folders as root; use qemu:///system")
	}
	share := companion.Share{Dir: f.Source.Dir}
	var err error
	if _, mode, serr := e.k.Owner(share.Dir); serr != nil || !mode.IsDir() {
		if serr == nil {
			serr = unix.ENOTDIR
		}
		n := guest.Need{Path: share.Dir, Device: c.Device}
		return companion.Program{}, &guest.NeedError{Need: n, Err: s.explain(n, serr)}
	}
	if b := f.Binary; b != nil {
		share.Binary, share.XAttr = b.Path, b.XAttr
		if b.Cache != nil {
			share.Cache = b.Cache.Mode
		}
		if b.Sandbox != nil {
			share.Sandbox = b.Sandbox.Mode
		}
		if b.Lock != nil {
			share.POSIX, share.Flock = b.Lock.POSIX, b.Lock.Flock
		}
		if b.ThreadPool != nil {
			share.Threads = b.ThreadPool.Size
		}
		if b.OpenFiles != nil {
			share.Files = b.OpenFiles.Max
		}
	}
	if share.Binary == "" {
		if share.Binary, err = e.findVirtiofsd(); err != nil {
			return companion.Program{}, err
		}
	}
	answer, err := e.output(ctx, share.Binary, "--print-capabilities")
	if err != nil {
		return companion.Program{}, err
	}
	share.Separate = companion.VirtioFSCapabilities(answer)
	if share.Separate && (spec.IsYes(share.POSIX) || spec.IsYes(share.Flock)) {
		return companion.Program{}, s.cannotShare("devices/filesystem/binary/lock", "this virtiofsd keeps locks within the guest; leave it out")
	}
	return companion.VirtioFSD(share), nil
}

// cannotShare refuses what no virtiofsd of this host can do.
func (s *starting) cannotShare(element, reason string) error {
	return about("domain", s.d.label, documentError(&spec.UnsupportedError{Element: element, Reason: reason}))
}

// findVirtiofsd looks where QEMU says that programs for its devices describe themselves, and then in known places.
func (e *Engine) findVirtiofsd() (string, error) {
	for _, dir := range companion.VirtioFSDirs() {
		entries, _ := e.k.ReadDir(dir) // often there is none
		for _, entry := range entries {
			const most = 64 << 10
			doc, err := e.k.ReadFileLimit(filepath.Join(dir, entry.Name()), most)
			if path := companion.VirtioFSBinary(doc); err == nil && path != "" && exists(path) {
				return path, nil
			}
		}
	}
	for _, path := range companion.VirtioFSPlaces() {
		if exists(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("virtiofsd %w; install the package virtiofsd (on Debian 12, qemu-system-common)", companion.ErrMissing)
}

// output runs a program of the host and returns what it said.
func (e *Engine) output(ctx context.Context, path string, args ...string) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	child, err := e.k.Start(host.ProcessSpec{Path: path, Args: append([]string{path}, args...), Stdout: w})
	if cerr := w.Close(); err != nil || cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	defer child.Close()
	stop := context.AfterFunc(ctx, func() { _ = e.k.Signal(&child.PIDFD, unix.SIGKILL) })
	defer stop()
	const most = 64 << 10
	said, err := io.ReadAll(io.LimitReader(r, most))
	exit, werr := child.Wait(context.WithoutCancel(ctx))
	if err = errors.Join(err, werr); err == nil && exit != (host.Exit{}) {
		err = fmt.Errorf("%s %v: %s", path, args, exit)
	}
	return said, err
}
