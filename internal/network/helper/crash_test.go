package helper_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/network/helper"
)

// daemonRun is what a child of the tests does in the daemon's place.
type daemonRun struct {
	Options helper.HelperOptions
	Network helper.Network
	Index   int
	EndAt   int  // the call at which it ends as if killed; 0: never
	Both    bool // the helper ends with it
}

// daemon opens the helper, serves a network and compacts its leases, in a process that ends at a given call. It prints
// how many calls there were.
func daemon(doc string) error {
	var r daemonRun
	if err := json.Unmarshal([]byte(doc), &r); err != nil {
		return err
	}
	var calls atomic.Int64 // a helper that is found running is asked for its sockets by another goroutine
	r.Options.Kernel = host.New(host.Options{Hook: func(string) {
		if calls.Add(1) == int64(r.EndAt) {
			if r.Both {
				r.killHelper()
			}
			os.Exit(0)
		}
	}})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := helper.OpenHelper(ctx, r.Options)
	if err != nil {
		return err
	}
	if err := h.Set(ctx, r.Network, r.Index); err != nil {
		return err
	}
	if err := h.Compact(ctx, r.Network.UUID); err != nil {
		return err
	}
	fmt.Println(calls.Load())
	return h.Close()
}

// killHelper kills the helper that the pid file names, if there is one.
func (r daemonRun) killHelper() {
	var is struct {
		PID   int
		Start uint64
	}
	b, err := os.ReadFile(filepath.Join(r.Options.Dir, "pid.json"))
	if err != nil || json.Unmarshal(b, &is) != nil || is.PID == 0 {
		return
	}
	k := host.New(host.Options{})
	defer k.Close()
	if p, err := k.OpenPID(is.PID, is.Start); err == nil { // it has not ended
		_ = k.Signal(p, unix.SIGKILL)
		_ = p.Close()
	}
}

func TestADaemonKilledAtAnyCallLeavesNothingThatTheNextCannotMend(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	index := s.serve(n)
	g := s.guest(n.Bridge, "52:54:00:00:00:01")
	signal, _ := g.udhcpc()
	g.want("deconfig", "bound 10.7.0.10")
	root := cgroup(t, s.o.Kernel)

	var trace []int // of where they ended
	run := func(at int, both bool) string {
		t.Helper()
		o := s.o
		o.Kernel = nil
		o.Cgroup = root
		doc, err := json.Marshal(daemonRun{o, n, index, at, both})
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), daemonVariable+"="+string(doc), "GORACE=atexit_sleep_ms=0")
		var out strings.Builder
		c.Stdout, c.Stderr = &out, &out
		if err := s.host.Start(c); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatalf("a daemon that ends at call %d after %v: %v: %s", at, trace, err, out.String())
		}
		trace = append(trace, at)
		return strings.TrimSpace(out.String())
	}
	stop := func() { // the helper is a child of nobody here: without a daemon, it runs on
		s.o.Cgroup = root
		s.open()
		if err := s.h.Stop(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.h.Stop(s.ctx); err != nil {
		t.Fatal(err)
	}
	calls, err := strconv.Atoi(run(0, false))
	if err != nil || calls < 20 {
		t.Fatalf("an undisturbed daemon made %d calls: %v", calls, err)
	}
	for at := 1; at <= calls; at++ {
		if at%2 == 0 { // with a helper to adopt, and without
			stop()
		}
		said := run(at, at%4 > 1)     // alone, and together with the helper
		for at%4 == 3 && said == "" { // which it had found running
			pids, err := s.o.Kernel.CgroupProcs(root)
			if err != nil || s.ctx.Err() != nil {
				t.Fatalf("the helper did not end with the daemon at call %d: %v", at, err)
			}
			if len(pids) == 0 {
				break
			}
		}
		run(0, false)
		signal(renew)
		g.want("renew 10.7.0.10")
		pids, err := s.o.Kernel.CgroupProcs(root)
		if err != nil || len(pids) != 1 {
			t.Fatalf("after a daemon that ended at call %d there are helpers %v, %v", at, pids, err)
		}
		files, err := filepath.Glob(filepath.Join(s.o.LeaseDir, "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("after a daemon that ended at call %d there are %v, %v", at, files, err)
		}
	}
	stop()
	s.o.Cgroup = ""
	s.open() // for the site to stop
}

// cgroup returns the path of a cgroup for one test, which is removed at its end.
func cgroup(t *testing.T, k *host.Kernel) string {
	t.Helper()
	root, err := k.CgroupRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, fmt.Sprintf("taproom-test-%d-%s", os.Getpid(), t.Name()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := k.RemoveCgroup(ctx, path); err != nil {
			t.Error(err)
		}
	})
	return path
}
