package qemu

import (
	"errors"
	"fmt"
	"strings"
)

// What can go wrong with a start. Each arrives in a *StartError, together with the errno where there is one.
var (
	// ErrBinary means that the emulator is missing or cannot be executed by the guest's user.
	ErrBinary = errors.New("QEMU cannot be executed")
	// ErrConfine means that privileges could not be given up as asked, so QEMU was not executed.
	ErrConfine = errors.New("QEMU could not be confined and was not started")
	// ErrDied means that QEMU ended before its monitor answered.
	ErrDied = errors.New("QEMU ended before it was ready")
	// ErrSilent means that QEMU runs but its monitor did not answer in time. It was killed.
	ErrSilent = errors.New("QEMU's monitor did not answer in time; it was ended")
	// ErrRoot means that the start was refused because it would have run as root.
	ErrRoot = errors.New("QEMU is never run as root")
)

// ErrNotRunning means that a pid file names no live process.
var ErrNotRunning = errors.New("no such QEMU runs")

// StartError says why there is no QEMU. Nothing of it is left.
type StartError struct {
	Binary string
	Guest  string
	Reason error  // one of the sentinels above
	Exit   string // how the process ended: "exit status 1"; "" when it did not exist
	Stderr string // the last lines that QEMU wrote
	Err    error  // the cause below; may be nil
}

// Error implements error.
func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "start %s", e.Binary)
	if e.Guest != "" {
		fmt.Fprintf(&b, " for guest %s", e.Guest)
	}
	fmt.Fprintf(&b, ": %v", e.Reason)
	if e.Exit != "" {
		fmt.Fprintf(&b, " (%s)", e.Exit)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&b, "; it said: %s", e.Stderr)
	}
	return b.String()
}

// Unwrap returns the sentinel and the cause.
func (e *StartError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}
