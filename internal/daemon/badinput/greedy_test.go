package badinput

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

const (
	nobody = 65534
	// mostKiB is what the daemon may take while clients try to have it take more.
	mostKiB = 100 << 10
	// backKiB is what it takes again some time after that.
	backKiB = 64 << 10
)

// greed is a daemon with many definitions, beside whose other clients greedy ones connect.
type greed struct {
	*daemontest.Daemon
	t     *testing.T
	conns []net.Conn
	wg    sync.WaitGroup
}

func newGreed(t *testing.T, domains int) *greed {
	t.Helper()
	g := &greed{Daemon: daemontest.New(t), t: t}
	t.Cleanup(g.leave)
	c := g.Client()
	for i := range domains {
		g.define(c, i)
	}
	must(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.PID()), []byte("5"), 0)) // the peak begins here
	return g
}

// define defines a domain, or defines it again.
func (g *greed) define(c *client.Client, number int) {
	g.t.Helper()
	_, err := c.DefineDomain(g.t.Context(), fmt.Sprintf(`<domain type='qemu'><name>guest-%04d</name><uuid>fa5a5e55-0000-4000-8000-%012d</uuid>
	  <memory unit='MiB'>16</memory><vcpu>1</vcpu><os><type arch='x86_64' machine='pc'>hvm</type></os></domain>`, number, number))
	must(g.t, err)
}

// leave closes the greedy clients and waits for what writes to them.
func (g *greed) leave() {
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
	g.wg.Wait()
}

// dialAs connects as another user, whose number the kernel hands to the daemon.
func (g *greed) dialAs(uid int, socket string) net.Conn {
	g.t.Helper()
	var fd int
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread, whose user changes, ends with the goroutine
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			done <- e
			return
		}
		var err error
		if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(g.Paths().LibvirtRun, socket)})
		}
		done <- err
	}()
	must(g.t, <-done)
	f := os.NewFile(uintptr(fd), socket)
	defer f.Close()
	c, err := net.FileConn(f)
	must(g.t, err)
	g.conns = append(g.conns, c)
	return c
}

// largeMessage is a call of 32 MiB, the most that libvirt's protocol allows. What is behind its arguments is ignored.
func largeMessage() []byte {
	h := remote.Header{Program: remote.ProgramRemote, Version: remote.Version, Procedure: remote.ProcConnectOpen}
	return remote.AppendRaw(nil, h, make([]byte, remote.MaxMessage-remote.HeaderSize))
}

// keepWriting writes to a connection until it is closed at either end.
func (g *greed) keepWriting(c net.Conn, first, again []byte) {
	g.wg.Go(func() {
		for b := first; ; b = again {
			if _, err := c.Write(b); err != nil || again == nil {
				return
			}
		}
	})
}

// sendLargeMessages has so many connections each send a message of 32 MiB but for its last four bytes.
func (g *greed) sendLargeMessages(uid int, socket string, connections int) {
	g.t.Helper()
	msg := largeMessage()
	for range connections {
		g.keepWriting(g.dialAs(uid, socket), msg[:len(msg)-4], nil)
	}
}

// call is the message of a call.
func call(t *testing.T, procedure uint32, args xdr.Value) []byte {
	t.Helper()
	b, err := remote.Append(nil, remote.Header{Program: remote.ProgramRemote, Version: remote.Version, Procedure: procedure}, args)
	must(t, err)
	return b
}

// neverRead has so many connections make calls with large answers, and ask for events, without reading anything.
func (g *greed) neverRead(uid int, socket string, connections int) {
	g.t.Helper()
	open := call(g.t, remote.ProcConnectOpen, &remote.OptStringFlags{S: remote.Opt("qemu:///system")})
	events := call(g.t, remote.ProcConnectDomainEventCallbackRegisterAny, &remote.DomainEventRegister{})
	capabilities := call(g.t, remote.ProcConnectGetCapabilities, &xdr.Void{})
	stats := call(g.t, remote.ProcConnectGetAllDomainStats, &remote.StatsArgs{})
	for range connections {
		g.keepWriting(g.dialAs(uid, socket), slices.Concat(open, events), slices.Concat(capabilities, stats))
	}
}

// kib is a figure of the daemon's memory.
func (g *greed) kib(what string) int {
	g.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID()))
	must(g.t, err)
	_, rest, _ := strings.Cut(string(b), what+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	must(g.t, err)
	return n
}

// serves fails unless the domains are listed so many times, and says how long that took.
func (g *greed) serves(ctx context.Context, times int, beside string) {
	g.t.Helper()
	c := g.Client()
	var took []time.Duration
	for range times {
		begin := time.Now()
		if _, err := c.Domains(ctx, 0); err != nil {
			g.t.Fatalf("list beside greedy clients: %v", err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	g.t.Logf("list beside %s: median %v, p99 %v", beside, took[len(took)/2], took[len(took)*99/100])
}

func (g *greed) holdsPeak(what string) {
	g.t.Helper()
	peak := g.kib("VmHWM")
	g.t.Logf("%s: the daemon took up to %d KiB", what, peak)
	if underRace {
		g.t.Log("no bound is held under the race detector, which takes several times the memory: run the test without -race")
		return
	}
	if peak > mostKiB {
		g.t.Errorf("%s: the daemon took %d KiB, want at most %d", what, peak, mostKiB)
	}
}

// greedySize says how many clients are greedy: a few in the run of all tests, and with TAPROOM_LONG=1 as many as brought the
// daemon to 4 GB.
func greedySize() (large, mute, domains, lists int) {
	if os.Getenv("TAPROOM_LONG") != "" {
		return 100, 200, 500, 3000
	}
	return 20, 200, 100, 50
}

func TestGreedyClients_WithLargeMessagesTakeNoMemory(t *testing.T) {
	large, _, domains, lists := greedySize()
	g := newGreed(t, domains)
	g.sendLargeMessages(nobody, "libvirt-sock-ro", large)
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	g.serves(ctx, lists, fmt.Sprintf("%d large messages of nobody's", large))
	g.wg.Wait() // all has been sent
	g.holdsPeak("large messages")
}

// Those who may write are served, within the budget: one user has one such message read at a time, and its memory comes back.
func TestGreedyClients_ThatMayWriteHaveLargeMessagesReadInTurn(t *testing.T) {
	large, _, domains, lists := greedySize()
	g := newGreed(t, domains)
	msg := largeMessage()
	answers := make(chan error, large)
	for range large {
		c := g.dialAs(0, "libvirt-sock")
		g.keepWriting(c, msg, nil)
		go func() {
			_, err := io.ReadFull(c, make([]byte, remote.HeaderSize))
			answers <- err
		}()
	}
	ctx, cancel := emutest.Context(t.Context())
	defer cancel()
	g.serves(ctx, lists, fmt.Sprintf("%d large messages of root's", large))
	for range large {
		if err := <-answers; err != nil {
			t.Errorf("a large message of root's was not answered: %v", err)
		}
	}
	g.holdsPeak("large messages of root's")
	if underRace {
		return // see holdsPeak
	}
	emutest.Wait(t, "the memory comes back", nil, func() bool { return g.kib("VmRSS") < backKiB })
}

func TestGreedyClients_ThatNeverReadDelayNobodyAndTakeNoMemory(t *testing.T) {
	_, mute, domains, lists := greedySize()
	for _, attack := range []struct {
		who    string
		uid    int
		socket string
	}{{"nobody", nobody, "libvirt-sock-ro"}, {"root", 0, "libvirt-sock"}} {
		t.Run(attack.who, func(t *testing.T) {
			g := newGreed(t, domains)
			ctx, cancel := emutest.Context(t.Context())
			defer cancel()
			g.serves(ctx, lists, "nobody")
			g.neverRead(attack.uid, attack.socket, mute)
			g.serves(ctx, lists, fmt.Sprintf("%d clients of %s that never read", mute, attack.who))
			c := g.Client()
			for range 2 * lists {
				g.define(c, 0) // each is an event that is not read
			}
			g.holdsPeak("clients of " + attack.who + " that never read")
			g.leave()
			g.serves(ctx, 1, "clients that have gone")
		})
	}
}
