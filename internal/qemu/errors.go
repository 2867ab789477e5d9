package qemu

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"taproom/internal/qemu/spawn"
)

// What can go wrong with a start. Each arrives in a *StartError, together with the errno where there is one.
var (
	// ErrBinary means that the emulator is missing or cannot be executed by the guest's user.
	ErrBinary = errors.New("QEMU cannot be executed")
	// ErrConfine means that privileges could not be given up as asked, so QEMU was not executed.
	ErrConfine = errors.New("QEMU could not be confined and was not started")
	// ErrDied means that QEMU ended before its monitor answered.
	ErrDied = errors.New("QEMU ended before it was ready")
	// ErrSilent means that QEMU ran but its monitor did not answer in time, or not with sense. It was killed.
	ErrSilent = errors.New("QEMU did not become ready and was ended")
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

// Error implements error. Whose guest it was is left to the caller, who knows more of it.
func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s", e.Reason, e.Binary)
	if e.Exit != "" && !errors.Is(e.Reason, ErrSilent) { // the end of that one was our doing
		fmt.Fprintf(&b, ": %s", e.Exit)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.cause())
	}
	switch {
	case e.Stderr != "":
		fmt.Fprintf(&b, "; it said: %s", e.Stderr)
	case e.Exit != "":
		b.WriteString("; it said nothing")
	}
	return b.String()
}

// cause is the cause without the path of the binary, which stands before it.
func (e *StartError) cause() error {
	var path *fs.PathError
	var launch *spawn.Failed
	var errno syscall.Errno
	switch {
	case !errors.Is(e.Reason, ErrBinary):
	case errors.As(e.Err, &path):
		return path.Err
	case errors.As(e.Err, &launch) && errors.As(e.Err, &errno):
		return errno
	}
	return e.Err
}

// Unwrap returns the sentinel and the cause.
func (e *StartError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}
