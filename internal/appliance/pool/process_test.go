package pool_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/launch"
	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/pool"
	"taproom/internal/host"
	"taproom/internal/qemu/emutest"
)

// ownerDir tells this test's binary to be an owner of an appliance instead: it takes one of the pool in this folder, says
// its process number, and lives until it is killed.
const ownerDir = "TAPROOM_POOL_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerDir); dir != "" {
		if err := own(dir, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func own(dir string, ticket []string) error {
	t, err := pool.ReadTicket(strings.NewReader(ticket[0]))
	if err != nil {
		return err
	}
	a, err := pool.Launch(context.Background(), t.Order.Spec(nil), pool.Options{Dir: dir, Program: ticket[1], Wait: true})
	if err != nil {
		return err
	}
	fmt.Println(a.PID())
	_, err = io.Copy(io.Discard, os.Stdin) // until the test is gone, or kills it
	return err
}

// site is a pool of the test's own.
type site struct {
	k     *host.Kernel
	spec  launch.Spec
	o     pool.Options
	place pool.Place
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "pool") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &site{k: host.New(host.Options{}), o: pool.Options{
		Dir: filepath.Join(dir, "run"), Program: launchtest.Program(t, "taproom"), Wait: true, // others may have the memory now
	}}
	t.Cleanup(s.k.Close)
	files := launchtest.Files(t)
	s.spec = launch.Spec{
		Kernel: s.k, Files: files, Memory: uint64(files.Memory), Accelerator: "tcg", CacheDir: filepath.Join(dir, "cache"),
		Launcher: launchtest.Program(t, "taproom-launch"),
	}
	order, err := pool.NewOrder(s.k, s.spec)
	if err != nil {
		t.Fatal(err)
	}
	if s.place, err = pool.Find(s.k, s.o.Dir, order); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a test that failed left it
		ctx, cancel := emutest.Context(context.WithoutCancel(t.Context()))
		defer cancel()
		_ = pool.Stop(ctx, s.k, s.place.Socket())
	})
	return s
}

// launch takes an appliance of the pool, which boots a template first where there is none.
func (s *site) launch(t *testing.T) (*launch.Appliance, error) {
	t.Helper()
	defer emutest.Boot(t)()
	return pool.Launch(t.Context(), s.spec, s.o)
}

// full waits until the pool has as many that wait as it wants.
func (s *site) full(t *testing.T) pool.Status {
	t.Helper()
	ctx, cancel := emutest.Watch(t.Context(), 8, nil) // guests beside the test may have the memory
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		st, err := pool.StatusOf(t.Context(), s.k, s.place.Socket())
		if err != nil {
			t.Fatal(err)
		}
		if st.Ready == pool.DefaultSize && st.Launching == 0 {
			return st
		}
		if st.Failed != "" || ctx.Err() != nil {
			room, err := s.k.MemoryRoom()
			t.Fatalf("the pool never was full: %+v; the host has %+v, %v", st, room, err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// children are the processes that one has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, task := range tasks {
		b, _ := os.ReadFile(task) // a thread may have ended
		for _, f := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(f)
			out = append(out, n)
		}
	}
	return out
}

// hold takes hold of processes, so that their end can be seen.
func (s *site) hold(t *testing.T, pids []int) []*host.PIDFD {
	t.Helper()
	var out []*host.PIDFD
	for _, pid := range pids {
		p, err := s.k.OpenPID(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		out = append(out, p)
	}
	return out
}

// over waits for the end of processes.
func over(t *testing.T, what string, all []*host.PIDFD) {
	t.Helper()
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	for _, p := range all {
		if err := p.Wait(ctx); err != nil {
			t.Errorf("%s, process %d: %v", what, p.PID, err)
		}
	}
}

// The life of a pool: it is started by who asks first, is killed, and is started again.
func TestAppliancesThatWaitEndWithTheirPoolAndOthersWithTheirOwner(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, err := s.launch(t)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	st := s.full(t)
	if st.Lent != 1 || st.Served != 1 {
		t.Errorf("%+v, want one handed out", st)
	}
	for range 2 { // one that waited
		a, err := s.launch(t)
		if err != nil {
			t.Fatal(err)
		}
		if a.Info().BootID == mine.Info().BootID || a.PID() == mine.PID() {
			t.Errorf("%d was handed out twice", a.PID())
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		s.full(t)
	}
	owner, pid := s.owner(t)
	theirs := s.hold(t, []int{pid})
	s.full(t)

	var waiting []int
	for _, c := range children(t, st.PID) {
		if c != mine.PID() && c != pid {
			waiting = append(waiting, c)
		}
	}
	held := s.hold(t, waiting)
	if len(held) != pool.DefaultSize {
		t.Errorf("the pool has the processes %v beside %d and %d, want %d", waiting, mine.PID(), pid, pool.DefaultSize)
	}
	if err := unix.Kill(st.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	over(t, "it waited in a pool that was killed", held)
	if err := mine.Agent().Ping(t.Context()); err != nil {
		t.Errorf("mine, after its pool was killed: %v", err)
	}
	if gone, err := theirs[0].Exited(); gone || err != nil {
		t.Errorf("theirs, after its pool was killed: gone %v, %v", gone, err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	over(t, "its owner was killed", theirs)
	_ = owner.Wait() // it was killed

	again, err := s.launch(t)
	if err != nil {
		t.Fatalf("after the pool was killed: %v", err)
	}
	defer again.Close()
	if st := s.full(t); st.Lent != 1 {
		t.Errorf("the new pool: %+v", st)
	}
	if err := pool.Stop(t.Context(), s.k, s.place.Socket()); err != nil {
		t.Fatal(err)
	}
	if err := again.Agent().Ping(t.Context()); err != nil {
		t.Errorf("after its pool was stopped: %v", err)
	}
}

// owner is another process with an appliance of the pool.
func (s *site) owner(t *testing.T) (*exec.Cmd, int) {
	t.Helper()
	order, err := pool.NewOrder(s.k, s.spec)
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := pool.Ticket{Order: order, Place: s.place}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], string(ticket), s.o.Program)
	c.Env = append(os.Environ(), ownerDir+"="+s.o.Dir)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil { // closed with the test
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	return c, pid
}
