package ovs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/ovsdb"
	"taproom/internal/network/state"
)

// DefaultSocket is where the distributions' Open vSwitch has its database.
const DefaultSocket = "/run/openvswitch/db.sock"

// DefaultWithin is how long the database may take to answer, and the switch to take a change up; libvirt's ovs_timeout is as
// long.
const DefaultWithin = 5 * time.Second

// Switch is the Open vSwitch of a host. It keeps nothing in memory, and its methods may be called from several goroutines.
type Switch struct {
	Kernel *host.Kernel
	Socket string // of its database
	Within time.Duration
	Group  uint32 // our link group: which daemon's a port is
}

var _ state.SwitchBackend = (*Switch)(nil)

// Labels in the external_ids of a Port.
const (
	groupLabel = "taproom-group"
	ownerLabel = "taproom-owner"
)

func (s *Switch) group() string { return strconv.FormatUint(uint64(s.Group), 10) }

// Labels implements state.SwitchBackend.
func (s *Switch) Labels(owner string) map[string]string {
	return map[string]string{groupLabel: s.group(), ownerLabel: owner}
}

// ErrUnreachable is a database that cannot be asked: it does not run, or does not answer.
var ErrUnreachable = errors.New("Open vSwitch cannot be reached")

// errSlow is a database that did not answer in time.
var errSlow = errors.New("no answer")

// talk connects to the database for one conversation.
func (s *Switch) talk(ctx context.Context, do func(context.Context, *ovsdb.Conn) error) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, c)
}

func (s *Switch) dial(ctx context.Context) (*ovsdb.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Within, errSlow)
	defer cancel()
	c, err := ovsdb.Dial(ctx, s.Kernel, s.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: its database does not listen (%w); start it (systemctl start openvswitch-switch), or set ovs_socket in taproomd.toml", ErrUnreachable, err)
	}
	return c, nil
}

// transact carries operations out; the database has to answer in time, and longer where it is told to wait.
func (s *Switch) transact(ctx context.Context, c *ovsdb.Conn, waits time.Duration, ops ...ovsdb.Op) ([]ovsdb.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Within+waits, errSlow)
	defer cancel()
	r, err := c.Transact(ctx, ops...)
	return r, s.explain(ctx, waits, err)
}

// explain says of a conversation that failed whether the database refused something or cannot be reached.
func (s *Switch) explain(ctx context.Context, waits time.Duration, err error) error {
	var refused *ovsdb.Error
	switch {
	case err == nil, errors.As(err, &refused):
		return err
	case errors.Is(err, errSlow):
		return fmt.Errorf("%w: its database at %s has not answered within %v; ovsdb-server hangs or is stopped: restart it (systemctl restart openvswitch-switch)", ErrUnreachable, s.Socket, s.Within+waits)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
