package sysbus

import (
	"context"
	"errors"
)

const (
	daemon     = "org.freedesktop.DBus"
	daemonPath = "/org/freedesktop/DBus"
)

func (c *Conn) ask(ctx context.Context, method string, result any, args ...any) error {
	return c.Call(ctx, Call{Name: daemon, Path: daemonPath, Method: daemon + "." + method, Args: args}, result)
}

// Owner returns which connection has a name; "" when nobody has it. No other connection ever gets the same.
func (c *Conn) Owner(ctx context.Context, name string) (string, error) {
	var owner string
	err := c.ask(ctx, "GetNameOwner", &owner, name)
	if IsGone(err) {
		return "", nil
	}
	return owner, err
}

// Process returns the process number of who has a name.
func (c *Conn) Process(ctx context.Context, name string) (int, error) {
	var pid uint32
	err := c.ask(ctx, "GetConnectionUnixProcessID", &pid, name)
	return int(pid), err
}

// IsGone reports whether a call failed because nobody has the name, or who had it left without an answer.
func IsGone(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Name {
	case daemon + ".Error.NameHasNoOwner", daemon + ".Error.ServiceUnknown", daemon + ".Error.NoReply":
		return true
	}
	return false
}
