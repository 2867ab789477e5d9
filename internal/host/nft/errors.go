package nft

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

var (
	// ErrInvalid is wrapped by the error of an object that was refused before anything was sent.
	ErrInvalid = errors.New("invalid nft object")
	// ErrChanged says that somebody changed nf_tables between the dump and the commit; nothing was applied. Dump again.
	ErrChanged = errors.New("nf_tables was changed by somebody else in between; nothing was applied")
	// ErrInterrupted says that nf_tables kept changing while it was dumped: what was read may be incomplete.
	ErrInterrupted = errors.New("nf_tables kept changing during the dump")
	// ErrAnswerLost says that the kernel's answer could not be read: the transaction may or may not have been applied.
	ErrAnswerLost = errors.New("the kernel's answer was lost: the change may or may not have been made; look again")
	// ErrNoTable says that the table to be dumped does not exist.
	ErrNoTable = errors.New("no such nft table")
)

// Error names the object that could not be applied. Nothing of its transaction was.
type Error struct {
	Command string // what an administrator would have typed, shortened
	Object  Object
	Detail  string // the kernel's own words, where it has any
	Err     error  // ErrInvalid, or the kernel's errno
}

// Error says what was attempted, on what, and what to do about it.
func (e *Error) Error() string {
	s := fmt.Sprintf("nft %s: %v", e.Command, e.Err)
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	if h := hint(e.Err); h != "" {
		s += "; " + h
	}
	return s
}

// Unwrap gives errors.Is the errno.
func (e *Error) Unwrap() error { return e.Err }

func hint(err error) string {
	switch {
	case errors.Is(err, ErrInvalid):
		return ""
	case errors.Is(err, unix.EPERM):
		return "it needs CAP_NET_ADMIN in this network namespace, and nobody else may own the table (nft list tables; flags owner)"
	case errors.Is(err, unix.ENOENT):
		return "it, or something it names, does not exist"
	case errors.Is(err, unix.EBUSY):
		return "something else still refers to it"
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EPROTONOSUPPORT):
		return "this kernel lacks what it needs; `taproom doctor` names it"
	}
	return ""
}

// shorten keeps a command with ten thousand elements readable.
func shorten(s string) string {
	const limit = 300
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	return s[:limit] + " …"
}
