package firewalld

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/sysbus"
)

const (
	busName    = "org.fedoraproject.FirewallD1"
	objectPath = "/org/fedoraproject/FirewallD1"
	configPath = objectPath + "/config"
)

// errAbsent says that no firewalld rules over our network namespace; the others are why.
var (
	errAbsent    = errors.New("firewalld does not run")
	errNoBus     = fmt.Errorf("%w: no system bus", errAbsent)
	errNoOwner   = fmt.Errorf("%w: nobody owns %s on the system bus", errAbsent, busName)
	errElsewhere = fmt.Errorf("%w here: it is in another network namespace", errAbsent)
)

// errSlow is why a call was given up.
var errSlow = errors.New("no answer in time")

// SilentError says that firewalld runs and does not answer.
type SilentError struct{ Within time.Duration }

// Error implements error.
func (e *SilentError) Error() string {
	return fmt.Sprintf("firewalld runs and did not answer within %v: see what it does (systemctl status firewalld), restart it, or stop it: networks work without it", e.Within)
}

// bus is the connection that calls go through. It is made when it is needed, and made again when it has ended.
type bus struct {
	kernel *host.Kernel
	socket string
	ask    time.Duration                                // how long talk looks for firewalld at most
	around func(method string, call func() error) error // of tests; nil is the call

	turn     chan struct{} // holds a token while somebody looks for firewalld, or has to do with the fields below
	conn     *sysbus.Conn
	owner    string // of firewalld's name, when it was looked at last
	ours     bool   // owner is in our network namespace
	prepared bool   // owner has our zone and policy
}

// session is a firewalld that runs.
type session struct {
	bus   *bus
	conn  *sysbus.Conn
	owner string
}

func newBus(k *host.Kernel, socket string, ask time.Duration) *bus {
	return &bus{kernel: k, socket: socket, ask: ask, turn: make(chan struct{}, 1)}
}

// take takes the turn, unless ctx ends first.
func (b *bus) take(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *bus) give() { <-b.turn }

// open finds firewalld. The error is errAbsent when there is none.
func (b *bus) open(ctx context.Context) (*session, error) {
	if err := b.take(ctx); err != nil {
		return nil, err
	}
	defer b.give()
	if b.conn == nil || !b.conn.Connected() {
		if err := b.hangUp(); err != nil {
			return nil, err
		}
		c, err := sysbus.Dial(ctx, b.kernel, b.socket)
		if noBus(err) {
			return nil, errNoBus
		}
		if err != nil {
			return nil, err
		}
		b.conn = c
	}
	owner, err := b.conn.Owner(ctx, busName)
	if err != nil {
		return nil, err
	}
	if owner != b.owner {
		if b.ours, err = b.sharesNetwork(ctx, owner); err != nil {
			return nil, err
		}
		b.owner, b.prepared = owner, false
	}
	switch {
	case owner == "":
		return nil, errNoOwner
	case !b.ours:
		return nil, errElsewhere
	}
	return &session{bus: b, conn: b.conn, owner: owner}, nil
}

// sharesNetwork reports whether a firewalld is in our network namespace. One that ended meanwhile is not.
func (b *bus) sharesNetwork(ctx context.Context, owner string) (bool, error) {
	if owner == "" {
		return false, nil
	}
	pid, err := b.conn.Process(ctx, owner)
	if sysbus.IsGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	same, err := b.kernel.SharesNetwork(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return same, err
}

// noBus reports whether an error of Dial says that there is none.
func noBus(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}

// close gives the connection back. The next open makes another one.
func (b *bus) close() error {
	b.turn <- struct{}{} // nobody has it for longer than a question takes
	defer b.give()
	return b.hangUp()
}

func (b *bus) hangUp() error {
	if b.conn == nil {
		return nil
	}
	err := b.conn.Close()
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, unix.EPIPE) { // it had ended already
		err = nil
	}
	b.conn, b.owner, b.prepared = nil, "", false
	return err
}

// talk runs f with firewalld. Without one the error is errAbsent, also when it goes meanwhile; when it does not answer
// within a time it is a *SilentError.
func (b *bus) talk(ctx context.Context, within time.Duration, f func(context.Context, *session) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, within, errSlow)
	defer cancel()
	finding, found := context.WithTimeoutCause(bounded, b.ask, errSlow) // the bus answers at once, and others wait meanwhile
	s, err := b.open(finding)
	found()
	if err == nil {
		err = f(bounded, s)
	}
	switch {
	case err == nil:
		return nil
	case sysbus.IsGone(err), errors.Is(err, sysbus.ErrClosed):
		return errAbsent
	case errors.Is(err, errSlow), bounded.Err() != nil && ctx.Err() == nil:
		return &SilentError{Within: within}
	}
	return err
}

// call calls a method of firewalld's object.
func (s *session) call(ctx context.Context, method string, result any, args ...any) error {
	m := sysbus.Call{Name: s.owner, Path: objectPath, Method: busName + method, Args: args}
	if result == nil {
		return s.send(ctx, m)
	}
	return s.send(ctx, m, result)
}

// configure calls a method of firewalld's permanent configuration.
func (s *session) configure(ctx context.Context, method string, args ...any) error {
	return s.send(ctx, sysbus.Call{Name: s.owner, Path: configPath, Method: busName + ".config." + method, Args: args})
}

func (s *session) send(ctx context.Context, m sysbus.Call, results ...any) error {
	if s.bus.around != nil {
		return s.bus.around(m.Method, func() error { return s.conn.Call(ctx, m, results...) })
	}
	return s.conn.Call(ctx, m, results...)
}
