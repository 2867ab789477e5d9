package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/pool"
	"taproom/internal/host"
)

const appliancePoolHelp = `Keep appliances ready, so that one is there the moment it is asked for.

Whoever asks for an appliance starts the pool where there is none, and it ends by itself when nobody has asked for a while; this
command runs one here, in the foreground, with other numbers. It keeps some appliances that nobody has used, as long as the host
has memory to spare, and hands each out once. What waits ends with the pool; what was handed out belongs to whoever has it.

  taproom appliance pool --size 8
  taproom appliance pool --try
  taproom appliance pool --status

--status says how the pools that run are doing, --stop ends them, and --try takes an appliance from it, says how long that took, and
ends it; where no pool runs, one is started. Without memory for one it fails, or waits with --wait.

Exit codes: 0 it ended as it should, 1 failed or there is no pool, 2 the command line is wrong.`

// poolOptions are the flags of the command.
type poolOptions struct {
	size               int
	idle               time.Duration
	memory             uint64
	machine            string
	dir                string
	status, stop, try  bool
	ticket, background bool // of a pool that is started on demand: what it is for is on standard input, and it goes on without us
	announce           bool // it says when it can be asked
	wait               bool // for memory
}

func newAppliancePool(env *Env) *cobra.Command {
	var o poolOptions
	c := &cobra.Command{Use: "pool", Short: "Keep appliances ready", Long: appliancePoolHelp, Args: arguments(0, 0, "no arguments"), ValidArgsFunction: nothing}
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case o.size < 0 || o.size > pool.MostSize:
			return &usageError{fmt.Errorf("--size %d: from 0 to %d can wait", o.size, pool.MostSize)}
		case o.idle < 0:
			return &usageError{fmt.Errorf("--idle %v: it is a time, or 0 for ever", o.idle)}
		case o.wait && !o.try:
			return &usageError{errors.New("--wait is for --try")}
		case o.status && o.stop || o.status && o.try || o.stop && o.try:
			return &usageError{errors.New("--status, --stop and --try: one of them")}
		}
		k := host.New(host.Options{})
		defer k.Close()
		return env.runPool(c.Context(), k, o)
	}
	f := c.Flags()
	f.IntVar(&o.size, "size", pool.DefaultSize, "how many appliances wait, where there is memory")
	f.DurationVar(&o.idle, "idle", pool.DefaultIdle, "how long nobody has to ask before it ends; 0 is for ever")
	f.Uint64Var(&o.memory, "memory", 0, "MiB of an appliance; what its kernel needs without it")
	f.StringVar(&o.machine, "machine", "", "its machine: microvm, q35 or pc; the fastest without it")
	f.StringVar(&o.dir, "dir", "", "`folder` of the socket; the user's own without it")
	f.BoolVar(&o.status, "status", false, "say how the pools that run are doing")
	f.BoolVar(&o.stop, "stop", false, "end the pools that run")
	f.BoolVar(&o.try, "try", false, "take an appliance from the pool, say how long that took, and end it")
	f.BoolVar(&o.wait, "wait", false, "with --try: wait for memory where there is none now")
	f.BoolVar(&o.ticket, "ticket", false, "")
	f.BoolVar(&o.background, "background", false, "")
	f.BoolVar(&o.announce, "announce", false, "")
	for _, name := range []string{"ticket", "background", "announce"} {
		_ = f.MarkHidden(name) // the flag is there
	}
	_ = c.MarkFlagDirname("dir")
	return c
}

func (env *Env) runPool(ctx context.Context, k *host.Kernel, o poolOptions) error {
	if o.status || o.stop {
		return env.everyPool(ctx, k, o)
	}
	t, err := env.poolTicket(ctx, k, o)
	if err != nil {
		return err
	}
	switch {
	case o.try:
		return env.tryPool(ctx, k, t, o.wait)
	case o.background:
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return pool.Background(ctx, k, t, self, fmt.Sprintf("--size=%d", o.size), fmt.Sprintf("--idle=%v", o.idle))
	}
	ready := func() error {
		fmt.Fprintf(env.Stderr, "%s is served; it ends %s\n", t.Place.Socket(), endsWhen(o.idle))
		return nil
	}
	if o.announce {
		ready = pool.Announce(env.Stdout)
	}
	err = pool.Run(ctx, pool.Config{Kernel: k, Order: t.Order, Place: t.Place, Size: o.size, Idle: o.idle, Ready: ready})
	if errors.Is(err, pool.ErrServed) && o.announce { // somebody else was faster, and whoever waits for us may ask that one
		return ready()
	}
	return err
}

// everyPool says how the pools in the folder are doing, or ends them, whatever they are for: what appliances boot from may be
// another today than when they were started.
func (env *Env) everyPool(ctx context.Context, k *host.Kernel, o poolOptions) error {
	sockets, err := pool.Sockets(k, o.dir)
	if err != nil {
		return err
	}
	var all []pool.Status
	var errs []error
	for _, s := range sockets {
		st, err := poolStatus(ctx, k, s)
		if err == nil && o.stop {
			err = stopPool(ctx, k, s)
		}
		switch {
		case errors.Is(err, pool.ErrNoPool): // it was killed, or has just ended
		case err != nil:
			errs = append(errs, err)
		default:
			all = append(all, st)
		}
	}
	switch {
	case len(all) == 0 && errs == nil:
		return pool.ErrNoPool
	case len(all) == 0 || o.stop:
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, env.print(all, func(w io.Writer) error {
		for _, st := range all {
			if err := st.WriteText(w); err != nil {
				return err
			}
		}
		return nil
	}))...)
}

// A pool that takes longer hangs.
const (
	answersWithin = 10 * time.Second
	endsWithin    = time.Minute // with what waits in it
)

func poolStatus(ctx context.Context, k *host.Kernel, socket string) (pool.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answersWithin,
		fmt.Errorf("the pool at %s has not answered for %v; kill its process", socket, answersWithin))
	defer cancel()
	return pool.StatusOf(ctx, k, socket)
}

// stopPool ends a pool. One that has ended meanwhile is as good.
func stopPool(ctx context.Context, k *host.Kernel, socket string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, endsWithin,
		fmt.Errorf("the pool at %s has not ended for %v since it was told to; kill its process", socket, endsWithin))
	defer cancel()
	err := pool.Stop(ctx, k, socket)
	if errors.Is(err, pool.ErrNoPool) {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

func endsWhen(idle time.Duration) string {
	if idle == 0 {
		return "when it is stopped"
	}
	return fmt.Sprintf("when nobody has asked for %v", idle)
}

// poolTicket says which appliances: those that the ticket on standard input names, or what everybody gets without saying more.
func (env *Env) poolTicket(ctx context.Context, k *host.Kernel, o poolOptions) (pool.Ticket, error) {
	if o.ticket {
		return pool.ReadTicket(env.Stdin)
	}
	spec, err := env.applianceSpec(ctx)
	if err != nil {
		return pool.Ticket{}, err
	}
	if spec.Machine = o.machine; o.memory > 0 {
		spec.Memory = o.memory
	}
	order, err := pool.NewOrder(k, spec)
	if err != nil {
		return pool.Ticket{}, err
	}
	place, err := pool.Find(k, o.dir, order)
	return pool.Ticket{Order: order, Place: place}, err
}

// applianceSpec is of appliances as everybody gets them who says nothing more of them.
func (env *Env) applianceSpec(ctx context.Context) (launch.Spec, error) {
	files, err := build.Ensure(ctx, build.Options{Progress: func(what string) {
		if env.ErrTerminal {
			fmt.Fprintln(env.Stderr, what)
		}
	}})
	return launch.Spec{Files: files, Memory: uint64(files.Memory)}, err
}
