package host

import (
	"errors"
	"fmt"
)

// Errors callers branch on. Each arrives wrapped together with the errno.
var (
	// ErrNoLink says that there is no link of that name or index.
	ErrNoLink = errors.New("no such link")
	// ErrTaken says that somebody else has the name.
	ErrTaken = errors.New("the name is taken")
	// ErrInUse says that somebody answers on the socket.
	ErrInUse = errors.New("another process serves it")
	// ErrGone says that the process has ended, or that its number belongs to another one by now.
	ErrGone = errors.New("the process is gone")
	// ErrTooLarge says that there is more than the caller was willing to read.
	ErrTooLarge = errors.New("larger than the limit")
)

// Missing is a probe's conclusive answer: this kernel cannot do it. Any other error of a probe proves nothing.
type Missing struct {
	What   string // the mechanism: "landlock"
	Config string // what a kernel needs for it: "CONFIG_SECURITY_LANDLOCK=y and landlock in lsm="
	Err    error  // what the kernel said; nil when it took the request and did something else
}

// Error implements error.
func (m *Missing) Error() string {
	s := "this kernel has no " + m.What
	if m.Err != nil {
		s += fmt.Sprintf(" (%v)", m.Err)
	}
	if m.Config != "" {
		s += "; it needs " + m.Config
	}
	return s
}

// Unwrap returns what the kernel said.
func (m *Missing) Unwrap() error { return m.Err }
