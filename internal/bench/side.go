package bench

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/engine"
	"taproom/internal/host"
	"taproom/internal/sandbox"
)

// side is a daemon that is measured: ours or a peer. Both are asked by the same client.
type side interface {
	client() *client.Client          // the connection; a new one after each start
	socket() string                  // where it serves libvirt's protocol
	pid() int                        // its process
	stop() error                     // ends the daemon and keeps what it wrote
	start(ctx context.Context) error // returns when it accepts a connection
}

// ownDaemon is our side: a daemon below a throwaway root.
type ownDaemon struct {
	daemon  *sandbox.Daemon
	program string
	conn    *client.Client
}

var (
	_ side = (*ownDaemon)(nil)
	_ side = (*peerLibvirt)(nil)
)

func startOwn(ctx context.Context, programs string) (*ownDaemon, error) {
	o := &ownDaemon{program: filepath.Join(programs, "taproomd")}
	var err error
	if o.daemon, err = sandbox.Start(ctx, o.program); err != nil {
		return nil, err
	}
	if err := o.connect(ctx); err != nil {
		return nil, errors.Join(err, o.close(ctx))
	}
	return o, nil
}

func (o *ownDaemon) connect(ctx context.Context) (err error) {
	o.conn, err = client.Dial(ctx, engine.NewPaths(o.daemon.Root).ControlSocket(), client.Options{})
	return err
}

// client implements side.
func (o *ownDaemon) client() *client.Client { return o.conn }

// socket implements side.
func (o *ownDaemon) socket() string { return o.daemon.Socket() }

// pid implements side.
func (o *ownDaemon) pid() int { return o.daemon.PID() }

// stop implements side.
func (o *ownDaemon) stop() error {
	if o.conn != nil {
		_ = o.conn.Close()
	}
	return o.daemon.Stop()
}

// start implements side.
func (o *ownDaemon) start(ctx context.Context) error {
	if err := o.daemon.Run(ctx, o.program); err != nil {
		return err
	}
	return o.connect(ctx)
}

// endWithin is how long the kernel may take to end what a daemon that died has left running.
const endWithin = 10 * time.Second

// close ends the daemon and removes its folder, whatever has become of it and of the guests that it ran.
func (o *ownDaemon) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	return errors.Join(o.stop(), o.endGuests(ctx), o.daemon.Remove())
}

// endGuests ends what still runs in the daemon's cgroups; usually nothing, and they are gone.
func (o *ownDaemon) endGuests(ctx context.Context) error {
	k := host.New(host.Options{})
	defer k.Close()
	root, err := k.CgroupRoot()
	if err != nil {
		return err
	}
	slice := filepath.Join(root, engine.NewIdentity(o.daemon.Root).Slice)
	return errors.Join(k.KillCgroup(slice), k.RemoveCgroup(ctx, slice))
}
