package helper_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/helper/vnetd"
	"taproom/internal/network/lease"
	"taproom/internal/version"
)

// vnetVariable makes the test program a helper that does what it says.
const vnetVariable = "TAPROOM_TEST_VNET"

// vnetRun is what a helper of the tests does beside serving. It is not confined.
type vnetRun struct {
	EndAt   int    // the write to a file or frame sent before which it ends as if killed; 0: never
	FaultAt int    // the frame it cannot stand; 0: none
	Shift   string // a file with how far its calendar is off, in seconds
	NoLimit bool
}

// vnet is taproom-vnet for tests.
func vnet(doc string) error {
	var r vnetRun
	if err := json.Unmarshal([]byte(doc), &r); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	clock, err := lease.System()
	if err != nil {
		return err
	}
	if r.Shift != "" {
		clock.Wall = func() int64 { return time.Now().Unix() + shift(r.Shift) }
	}
	var calls, frames atomic.Int64
	o := vnetd.Options{Owner: uint32(os.Getuid()), Build: version.Version, Clock: clock, NoLimit: r.NoLimit, Hook: func(s vnetd.Step) {
		switch {
		case s == vnetd.StepFrame:
			if frames.Add(1) == int64(r.FaultAt) {
				panic("a frame that cannot be stood")
			}
		case calls.Add(1) == int64(r.EndAt):
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // not a step further
		}
	}}
	return vnetd.Serve(ctx, os.NewFile(3, "control socket"), o)
}

func shift(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// program writes the program that runs such a helper.
func (r vnetRun) program(t *testing.T, path string) {
	t.Helper()
	doc, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' GORACE=atexit_sleep_ms=0 exec '%s'\n", vnetVariable, doc, self)
	// Renamed into place: the helper before it may still execute the file that has the name.
	if err := hosttest.WriteProgram(path+".new", []byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// newSiteWith is newSite with a helper of the tests.
func newSiteWith(t *testing.T, r vnetRun) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vnet")
	r.program(t, path)
	return newSiteOf(t, path)
}

// reopen starts another helper in place of one that has ended, or is killed now, and has a network served.
func (s *site) reopen(r vnetRun) {
	s.t.Helper()
	r.program(s.t, s.o.Program)
	_ = unix.Kill(s.h.Hello().PID, unix.SIGKILL) // it may have ended
	select {
	case <-s.h.Lost():
	case <-s.ctx.Done():
		s.t.Fatal("nobody noticed that the helper was killed")
	}
	if err := s.h.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.open()
}

// statusField reads a number of a process's status.
func statusField(t *testing.T, pid int, name string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, name+":"); ok {
			if v, err := strconv.Atoi(strings.Fields(n)[0]); err == nil {
				return v
			}
		}
	}
	t.Fatalf("process %d has no %s", pid, name)
	return 0
}
