package qmp

import (
	"context"
	"errors"
	"fmt"
)

// What ends a connection. Each arrives wrapped in a *ConnError.
var (
	// ErrClosed means that Close was called on this side.
	ErrClosed = errors.New("connection was closed here")
	// ErrPeerClosed means that QEMU closed its side between two messages: it exited, or it dropped this client.
	ErrPeerClosed = errors.New("QEMU closed the connection")
	// ErrTruncated means that QEMU's side ended in the middle of a message.
	ErrTruncated = errors.New("connection ended in the middle of a message")
	// ErrLineTooLong means that a message did not end within the allowed length.
	ErrLineTooLong = errors.New("message is longer than allowed")
	// ErrMalformed means that what came is not a QMP message, or not one that belongs here.
	ErrMalformed = errors.New("not a QMP message")
	// ErrEventOverflow means that the consumer let the event queue run full.
	ErrEventOverflow = errors.New("event queue is full: its consumer does not keep up")
)

// Error is QEMU's own refusal of a command. The connection stays usable.
type Error struct {
	Class   string // "GenericError", "CommandNotFound", "DeviceNotFound", …
	Desc    string // QEMU's text
	Command string // the command that was refused
}

// Error implements error.
func (e *Error) Error() string {
	if e.Class == "" || e.Class == "GenericError" {
		return fmt.Sprintf("QEMU refused %s: %s", e.Command, e.Desc)
	}
	return fmt.Sprintf("QEMU refused %s: %s (%s)", e.Command, e.Desc, e.Class)
}

// ConnError says that the connection is gone. Every call after it returns the same one. A command that was under way may
// or may not have been executed.
type ConnError struct {
	Peer string // where the connection led to
	Err  error
}

// Error implements error.
func (e *ConnError) Error() string { return fmt.Sprintf("QMP %s: %v", e.Peer, e.Err) }

// Unwrap returns the cause.
func (e *ConnError) Unwrap() error { return e.Err }

// NoReplyError says that the caller's context ended before QEMU answered. Unwrap gives why it ended. The
// connection stays usable unless the command could not even be written, and the command may still be executed.
type NoReplyError struct {
	Command string
	Err     error
}

// Error implements error.
func (e *NoReplyError) Error() string {
	if errors.Is(e.Err, context.DeadlineExceeded) {
		return fmt.Sprintf("QEMU did not answer %s in time", e.Command)
	}
	return fmt.Sprintf("QEMU did not answer %s: %v", e.Command, e.Err)
}

// Unwrap returns why the context ended.
func (e *NoReplyError) Unwrap() error { return e.Err }
