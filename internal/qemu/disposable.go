package qemu

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"taproom/internal/host"
	"taproom/internal/qemu/qmp"
	"taproom/internal/qemu/spawn"
)

// DisposableSpec is a QEMU that leaves nothing behind: it has no file of its own, and lives no longer than its leash.
type DisposableSpec struct {
	Launcher string              // path of taproom-launch
	Config   *Config             // Disposable, without QMP: its monitor is one of its Chardevs
	Files    map[string]*os.File // what the Config's names stand for
	Confinement
	Cgroup string // directory of the cgroup v2 that QEMU is born in; "" stays in the caller's

	// Leash is the reading end of a pipe. The kernel kills QEMU when the last writing end closes, whichever process has it
	// by then, and however that ends.
	Leash   *os.File
	Output  *os.File      // QEMU's stdout and stderr; nil for none
	Words   func() string // what came through Output last, as one line
	Monitor net.Conn      // our end of the monitor's connection
}

// StartDisposable runs such a QEMU and returns when its monitor answers; ctx bounds the wait. Its guest's CPUs run then, unless
// it waits for a state. All that was passed is StartDisposable's, also when it fails: it closes what QEMU has, or the other ends
// would not tell that QEMU is gone. An error is a *StartError unless the host refused something before any process existed;
// either way no process is left.
func StartDisposable(ctx context.Context, k *host.Kernel, s DisposableSpec) (*Process, error) {
	if s.UID == 0 || s.GID == 0 {
		s.handOver()
		return nil, refuse(s.Monitor, &StartError{Binary: s.Config.Binary, Guest: s.Config.Name, Reason: ErrRoot})
	}
	st := &starting{k: k, spec: StartSpec{Launcher: s.Launcher, Config: s.Config, Files: s.Files, Confinement: s.Confinement, Cgroup: s.Cgroup}}
	child, status, err := st.forkDisposable(s)
	s.handOver()
	if err != nil {
		return nil, refuse(s.Monitor, err)
	}
	defer status.Close()
	p := watch(ctx, k, child, s.Words)
	if st.report, err = spawn.Report(ctx, status); err != nil {
		return nil, refuse(s.Monitor, st.giveUp(ctx, p, err))
	}
	p.executed = time.Now()
	client, err := qmp.New(ctx, k, s.Monitor, s.Config.Name)
	if err != nil {
		return nil, st.giveUp(ctx, p, err)
	}
	p.qmp.Store(client)
	p.landlock, p.noLandlock = st.report.Landlock, st.report.NoLandlock
	return p, nil
}

// handOver closes what QEMU has, or will never have.
func (s DisposableSpec) handOver() {
	for _, f := range s.Files {
		_ = f.Close()
	}
	for _, f := range []*os.File{s.Leash, s.Output} {
		_ = f.Close() // of nil it is an error and no more
	}
}

func refuse(monitor net.Conn, err error) error {
	_ = monitor.Close()
	return err
}

// forkDisposable starts taproom-launch with QEMU's descriptors.
func (st *starting) forkDisposable(s DisposableSpec) (child *host.Process, status *os.File, err error) {
	argv, names, err := s.Config.Args(spawn.FirstFD)
	if err != nil {
		return nil, nil, err
	}
	st.argv = argv
	files := make([]*os.File, 0, len(names))
	for _, name := range names {
		f := s.Files[name]
		if f == nil {
			return nil, nil, fmt.Errorf("start %s: its command line needs the file %q and nobody opened it", s.Config.Name, name)
		}
		files = append(files, f)
	}
	l, err := st.launchSpec()
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", s.Config.Name, err)
	}
	child, status, err = spawn.Start(st.k, spawn.Command{
		Launcher: s.Launcher, Spec: l, Files: files, Leash: s.Leash, Log: s.Output, Cgroup: s.Cgroup,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", s.Config.Name, err)
	}
	return child, status, nil
}
