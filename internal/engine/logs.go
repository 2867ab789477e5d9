package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What a guest's QEMU says can be the guest's doing, so it must not fill the disk: a log that grows beyond logMost begins
// anew, and its end is kept beside it. libvirt's virtlogd keeps as much.
const (
	logMost   = 2 << 20
	logSuffix = ".log"
	logBefore = ".1" // behind the whole name
)

// tendLogs keeps the logs of guests short, also what was written while no daemon was there.
func (e *Engine) tendLogs(context.Context) error {
	if _, err := e.k.SweepTemp(e.paths.Logs()); err != nil {
		return err
	}
	watch, err := e.k.WatchWrites(e.paths.Logs())
	e.tendLog("")
	e.work.Go(func() {
		if err == nil {
			err = watch.Run(e.ctx, e.tendLog)
		}
		if err != nil {
			e.problem.add(e.log, "logs of guests may grow without bound: "+err.Error())
		}
	})
	return nil
}

// tendLog looks at one log, or with "" at all of them.
func (e *Engine) tendLog(name string) {
	names := []string{name}
	if name == "" {
		names = nil
		entries, _ := e.k.ReadDir(e.paths.Logs()) // the next write tells again
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, logSuffix) {
			continue
		}
		if err := e.shorten(filepath.Join(e.paths.Logs(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.log.Warn("keep the log of a guest short", "log", name, "error", err)
		}
	}
}

// shorten keeps the end of a log that is too long, and cuts the log. QEMU appends, so it goes on at the new end.
func (e *Engine) shorten(path string) error {
	use, err := e.k.FileUse(path)
	if err != nil || use.Capacity <= logMost {
		return err
	}
	f, err := e.k.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	tail := make([]byte, logMost)
	if _, err := f.ReadAt(tail, int64(use.Capacity)-logMost); err != nil {
		return err
	}
	err = e.k.WriteFile(path+logBefore, tail, 0o600, false)
	return errors.Join(err, e.k.Truncate(f, 0)) // also when there was no room for the end
}
