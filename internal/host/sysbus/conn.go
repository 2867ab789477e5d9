package sysbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"

	"taproom/internal/host"
)

// DefaultSocket is where the bus listens.
const DefaultSocket = "/run/dbus/system_bus_socket"

// ErrClosed says that the bus ended the connection.
var ErrClosed = errors.New("the system bus ended the connection")

// Error is what the bus, or who was called, says no with.
type Error struct {
	Name    string // "org.freedesktop.DBus.Error.NameHasNoOwner"
	Message string // for people; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Name
	}
	return e.Message
}

// Conn is a connection. It may be used from several goroutines.
type Conn struct {
	bus *dbus.Conn
}

// Dial connects to the bus that listens at socket.
func Dial(ctx context.Context, k *host.Kernel, socket string) (*Conn, error) {
	s, err := k.DialUnix(ctx, socket)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	bus, err := dbus.NewConn(s, dbus.WithAuth(dbus.AuthExternal(strconv.Itoa(os.Getuid()))))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err = bus.Auth(nil); err == nil {
		err = bus.Hello()
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = bus.Close()
		return nil, fmt.Errorf("greet the system bus: %w", explain(err))
	}
	return &Conn{bus: bus}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.bus.Close() }

// Connected reports whether the connection has not ended.
func (c *Conn) Connected() bool { return c.bus.Connected() }

// Call is a method of an object, and what it is called with.
type Call struct {
	Name   string // whose object: a name on the bus
	Path   string
	Method string // with its interface
	Args   []any
}

// Call calls a method and reads what it answers into results, which are pointers. What the other side refuses is an *Error.
func (c *Conn) Call(ctx context.Context, m Call, results ...any) error {
	r := c.bus.Object(m.Name, dbus.ObjectPath(m.Path)).CallWithContext(ctx, m.Method, dbus.FlagNoAutoStart, m.Args...)
	if r.Err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return explain(r.Err)
	}
	if len(results) == 0 { // it may answer something that nobody asked for
		return nil
	}
	return r.Store(results...)
}

// explain translates what the library says.
func explain(err error) error {
	var no dbus.Error
	switch {
	case errors.As(err, &no):
		e := &Error{Name: no.Name}
		if len(no.Body) > 0 {
			e.Message, _ = no.Body[0].(string)
		}
		return e
	case errors.Is(err, dbus.ErrClosed):
		return ErrClosed
	}
	return err
}
