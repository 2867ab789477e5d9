// Package spawn is the parent's side of taproom-launch: it starts one, hands it what the program will inherit and what
// becomes of the process, and reads how that went.
package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/qemu/launch"
)

// FirstFD is the first descriptor that a program inherits beside the standard three.
const FirstFD = 3

// Command is a program that taproom-launch becomes.
type Command struct {
	Launcher string      // path of taproom-launch
	Spec     launch.Spec // Parent, Keep, Leash, StatusFD and PIDFile are set here
	Files    []*os.File  // what the program inherits, from FirstFD on
	Leash    *os.File    // behind them: the reading end of a pipe whose last writing end ends the program; nil for none
	PIDFile  *os.File    // where its number and start time go; nil for none
	Log      *os.File    // its stdout and stderr
	Dir      string      // working directory; "" is /
	Cgroup   string      // directory of the cgroup v2 that it is born in; "" stays in the caller's
}

// Start starts a taproom-launch. Whoever called it reads its Report from status and closes that; everything that was
// passed stays the caller's.
func Start(k *host.Kernel, c Command) (child *host.Process, status *os.File, err error) {
	status, end, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer end.Close()
	child, err = start(k, c, end)
	if err != nil {
		return nil, nil, errors.Join(err, status.Close())
	}
	return child, status, nil
}

func start(k *host.Kernel, c Command, end *os.File) (*host.Process, error) {
	s := c.Spec
	kept := append([]*os.File{}, c.Files...)
	s.Leash = 0
	if c.Leash != nil {
		s.Leash = FirstFD + len(kept)
		kept = append(kept, c.Leash)
	}
	next := FirstFD + len(kept) // the program's descriptors come first, and taproom-launch's own behind them
	s.Parent, s.Keep, s.StatusFD, s.PIDFile = os.Getpid(), len(kept), next+1, 0
	files := append(kept, nil, end)
	if c.PIDFile != nil {
		s.PIDFile = next + 2
		files = append(files, c.PIDFile)
	}
	doc, err := s.Encode()
	if err != nil {
		return nil, err
	}
	spec, err := host.MemoryFile("launch spec", doc)
	if err != nil {
		return nil, fmt.Errorf("pass on what to start: %w", err)
	}
	defer spec.Close()
	files[len(kept)] = spec
	return k.Start(host.ProcessSpec{
		Path: c.Launcher, Args: []string{filepath.Base(c.Launcher), strconv.Itoa(next)},
		Env:    []string{"GOGC=off"}, // lives for a millisecond
		Stdout: c.Log, Stderr: c.Log, Files: files, Dir: c.Dir, Cgroup: c.Cgroup, NetNS: true,
	})
}

// Report reads what taproom-launch reports, until its end closes with exec. A failure that it reported is a *Failed.
func Report(ctx context.Context, status *os.File) (launch.Report, error) {
	stop := context.AfterFunc(ctx, func() { _ = status.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	const most = 64 << 10
	var r launch.Report
	for d := json.NewDecoder(io.LimitReader(status, most)); ; {
		err := d.Decode(&r)
		switch {
		case errors.Is(err, io.EOF) && r.Stage != "":
			return r, &Failed{r}
		case errors.Is(err, io.EOF):
			return r, nil
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			return r, fmt.Errorf("read taproom-launch's report: %w", err)
		}
	}
}

// Failed is a failure that taproom-launch reported.
type Failed struct{ launch.Report }

// Error implements error.
func (e *Failed) Error() string { return e.Failure }

// Unwrap returns the errno, if any.
func (e *Failed) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return unix.Errno(e.Errno)
}
