// Package virterr holds libvirt's public error numbers and an error that carries them.
//
// Clients branch on these numbers ("no such domain: create it"), so whoever knows best what went wrong says it here, and
// the server passes it on. It is the one package of api that the rooms below may import.
package virterr

import (
	"errors"
	"fmt"
)

// Level says how bad an error is.
type Level int32

// The levels of libvirt.
const (
	LevelNone    Level = 0
	LevelWarning Level = 1
	LevelError   Level = 2
)

// Error is an error as libvirt's clients see it. Message is complete; it begins with the words libvirt uses for the code.
type Error struct {
	Code    Code
	Domain  Domain
	Level   Level
	Message string
	Detail  string // the message without the words of the code
	Err     error  // cause; may be nil
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same code, so that errors.Is(err, virterr.New(NoDomain, …)) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Domain == 0 || t.Domain == e.Domain)
}

// New returns an error of the code. The domain is the one the code usually comes from; In changes it. %w works as it does
// in fmt.Errorf.
func New(code Code, format string, args ...any) *Error {
	cause := fmt.Errorf(format, args...)
	return &Error{
		Code:    code,
		Domain:  code.domain(),
		Level:   LevelError,
		Message: code.message(cause.Error()),
		Detail:  cause.Error(),
		Err:     errors.Unwrap(cause),
	}
}

// Wrap gives err a code. It returns nil for nil, and err itself when it already carries a code.
func Wrap(code Code, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	e := New(code, "%w", err)
	return e
}

// In returns a copy that claims to come from another part of libvirt.
func (e *Error) In(d Domain) *Error {
	c := *e
	c.Domain = d
	return &c
}

// CodeOf returns the code err carries, and InternalError when it carries none.
func CodeOf(err error) Code {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return InternalError
}

// DomainNotFound is the answer to a name, UUID or ID that no domain has; by is "name", "uuid" or "id".
func DomainNotFound(by, what string) *Error {
	return New(NoDomain, "no domain with matching %s '%s'", by, what)
}

// NetworkNotFound is the answer to a name or UUID that no network has; by is "name" or "uuid".
func NetworkNotFound(by, what string) *Error {
	return New(NoNetwork, "no network with matching %s '%s'", by, what)
}

// Unsupported is the answer to a call that does not exist here.
func Unsupported(call string) *Error { return New(NoSupport, "%s", call) }
