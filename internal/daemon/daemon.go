package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/engine"
	"taproom/internal/host"
)

// Options say where a daemon lives.
type Options struct {
	Root string // all of its files below one folder; "" is the machine
	// Programs is the folder of taproom-launch and taproom-vnet; "" is that of the running program.
	Programs string
	Log      *slog.Logger
	// Hook is called before every call into the kernel; see host.Options.
	Hook func(call string)
	// Cache is where what is known of QEMU binaries is kept; "" is below the root.
	Cache string
	// Timeout ends the daemon when nobody has been connected and no guest has run for so long; 0 never does.
	Timeout time.Duration
	// ResolvConf names the host's resolvers; "" is /etc/resolv.conf, whatever the root.
	ResolvConf string
	// Counters is the socket on which counters of calls into the kernel and of memory are served; "" counts nothing.
	Counters string
}

// farewell is how long clients have to take their answers when the daemon ends.
const farewell = 5 * time.Second

// Run serves until ctx is done. Guests keep running after it.
func Run(ctx context.Context, o Options) error {
	counter := o.counter()
	k := host.New(host.Options{Hook: o.Hook, Counter: counter})
	defer k.Close()
	own := engine.OwnSession()
	paths, ignored, err := engine.OwnPaths(k, o.Root)
	if err != nil {
		return err
	}
	for _, what := range ignored {
		o.Log.Warn(what)
	}
	if o.Cache != "" {
		paths.Cache = o.Cache
	}
	id := identity(o.Root, own, paths)
	s, err := readSettings(k, paths, id)
	if err != nil {
		return err
	}
	programs, err := programDir(o.Programs)
	if err != nil {
		return err
	}
	for _, dir := range []string{paths.Run, filepath.Dir(paths.Lock())} {
		if err := k.Mkdir(dir, dirMode(own)); err != nil {
			return err
		}
	}
	// The lock and the sockets come first: who cannot have them must not touch the guests of the daemon that has.
	lock, err := k.Lock(paths.Lock())
	if err != nil {
		return whoHas(ctx, k, own, paths.ControlSocket(), err)
	}
	defer lock.Close()
	if o.Cache == "" { // nobody else's: what a daemon before left half-written
		if _, err := k.SweepTemp(paths.Cache); err != nil {
			return err
		}
	}
	ls, err := listen(ctx, k, paths, own, s.gid(own))
	if err != nil {
		return err
	}
	defer closeAll(k, ls)
	stopCounters, err := serveCounters(k, o.Counters, counter)
	if err != nil {
		return err
	}
	defer stopCounters()
	e, err := engine.New(ctx, engine.Config{
		Kernel: k, Paths: paths, Root: o.Root, Session: own, Log: o.Log, Emulator: s.Emulator, ResolvConf: o.ResolvConf,
		Launch: filepath.Join(programs, "taproom-launch"), Vnet: filepath.Join(programs, "taproom-vnet"),
		UIDFirst: uint32(s.UIDFirst), UIDLast: uint32(s.UIDFirst + s.UIDCount - 1), // check has seen that they fit
		VNCFirst: uint16(s.VNCPortFirst), VNCLast: uint16(s.VNCPortLast), Identity: id,
		SaveFormat: s.SaveImageFormat, DumpFormat: s.DumpImageFormat,
		ReadyWithin:     time.Duration(s.QEMUReadySeconds) * time.Second,
		LeaveLinks:      !s.HealLinks,
		LeaveRules:      !s.HealFirewall,
		ShareTables:     !s.NFTOwnedTables,
		FirewallBackend: s.FirewallBackend,
		SystemBus:       s.SystemBus,
		MACFilter:       s.MACFilter,
		OVSSocket:       s.OVSSocket, OVSWithin: time.Duration(s.OVSTimeoutSeconds) * time.Second,
	})
	if err != nil {
		return fmt.Errorf("take over what is there: %w", err)
	}
	defer e.Close()
	return serve(ctx, o, k, e, ls, s.limits())
}

func serve(ctx context.Context, o Options, k *host.Kernel, e *engine.Engine, ls []listener, limits server.Limits) error {
	changed := make(chan struct{}, 1)
	srv := server.New(context.WithoutCancel(ctx), server.Options{
		Backend: e, Log: o.Log, URI: engine.OwnSession().URI(), Changed: changed, Limits: limits,
		ClientName: func(pid int32) string {
			name, _ := k.ProcessName(int(pid)) // it may just have ended
			return name
		},
	})
	var wg sync.WaitGroup
	failed := make(chan error, len(ls))
	for _, l := range ls {
		wg.Go(func() { failed <- srv.Serve(l, l.readOnly) })
	}
	if err := notify("READY=1"); err != nil {
		o.Log.Warn(err.Error())
	}
	served, enough := context.WithCancel(ctx)
	if o.Timeout > 0 {
		defer e.Subscribe(func(server.Event) { nudge(changed) })()
		wg.Go(func() {
			if idle(served, o.Timeout, changed, func() bool { return busy(srv, e.ListDomains) }) == nil {
				enough()
			}
		})
	}
	var err error
	select {
	case <-served.Done():
	case err = <-failed: // a socket that does not accept any more
	}
	enough()
	_ = notify("STOPPING=1")
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	err = errors.Join(err, srv.Shutdown(end))
	for _, l := range ls {
		l.Close()
	}
	wg.Wait()
	return err
}

func programDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Dir(self), nil
}
