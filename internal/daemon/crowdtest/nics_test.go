package crowdtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/qemu/emutest"
)

// withNICs is a guest that has taps on a bridge and macvtaps on a lower link.
func withNICs(name string, taps, macvtaps int) string {
	return "<domain type='qemu'><name>" + name + `</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices><controller type='usb' model='none'/><memballoon model='none'/>` +
		strings.Repeat("<interface type='bridge'><source bridge='crowdbr'/><model type='virtio'/></interface>", taps) +
		strings.Repeat("<interface type='direct'><source dev='crowdlow' mode='bridge'/><model type='virtio'/></interface>", macvtaps) +
		"</devices></domain>"
}

// links makes what NICs are plugged into.
func links(d *daemontest.Daemon) {
	d.NS.Shell("ip link add crowdbr up type bridge; ip link add crowdlow up type veth peer name crowdfar; ip link set crowdfar up")
}

// nics counts the links of guests.
func nics(d *daemontest.Daemon) (taps, macvtaps int) {
	count := func(kind string) int { return strings.Count(d.NS.Run("ip", "-o", "link", "show", "type", kind), "\n") }
	return strings.Count(d.NS.Run("ip", "-o", "link", "show", "master", "crowdbr"), "\n"), count("macvtap")
}

func nothingIsLeft(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	d.NS.Shell("ip link del crowdbr; ip link del crowdlow")
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

const paused = 1 // VIR_DOMAIN_START_PAUSED

func TestGuestsWithSeveralNICsStartAndStopFromEightClientsAtOnce(t *testing.T) {
	t.Parallel()
	const guests, taps, macvtaps = 40, 3, 1
	d := daemontest.New(t)
	links(d)
	all := make(chan int, guests)
	for i := range guests {
		all <- i
	}
	close(all)
	started := make([]remote.Domain, guests)
	var wg sync.WaitGroup
	for range clients {
		c := d.Client()
		wg.Go(func() {
			for i := range all {
				dom, err := c.DefineDomain(t.Context(), withNICs(fmt.Sprintf("nics-%02d", i), taps, macvtaps))
				if err == nil {
					dom, err = c.StartDomain(t.Context(), dom, paused)
				}
				if err == nil && i%2 == 0 { // half of them go and come again while others start
					if err = c.DestroyDomain(t.Context(), dom); err == nil {
						dom, err = c.StartDomain(t.Context(), dom, paused)
					}
				}
				if err != nil {
					t.Errorf("guest %d: %v", i, err)
				}
				started[i] = dom
			}
		})
	}
	wg.Wait()
	if a, b := nics(d); a != guests*taps || b != guests*macvtaps {
		t.Errorf("%d taps and %d macvtaps are there, want %d and %d", a, b, guests*taps, guests*macvtaps)
	}
	rest := make(chan remote.Domain, guests)
	for _, dom := range started {
		rest <- dom
	}
	close(rest)
	for range clients {
		c := d.Client()
		wg.Go(func() {
			for dom := range rest {
				if err := errors.Join(c.DestroyDomain(t.Context(), dom), c.UndefineDomain(t.Context(), dom, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	nothingIsLeft(t, d)
}

func TestNothingIsLeftOfAGuestWithVeryManyNICsHoweverItEnds(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	links(d)
	c := d.Client()
	events, _, err := c.Lifecycle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		name           string
		taps, macvtaps int
	}{{"taps", 82, 0}, {"macvtaps", 0, 82}} {
		dom, err := c.DefineDomain(t.Context(), withNICs(kind.name, kind.taps, kind.macvtaps))
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []struct {
			name string
			do   func(context.Context, *client.Client, remote.Domain) error
		}{
			{"destroyed", func(ctx context.Context, c *client.Client, dom remote.Domain) error { return c.DestroyDomain(ctx, dom) }},
			{"killed", func(context.Context, *client.Client, remote.Domain) error { return kill(d, dom) }},
		} {
			if _, err := c.StartDomain(t.Context(), dom, paused); err != nil {
				t.Fatalf("%s: %v", kind.name, err)
			}
			if a, b := nics(d); a != kind.taps || b != kind.macvtaps {
				t.Errorf("%s: %d taps and %d macvtaps are there", kind.name, a, b)
			}
			saysWhatTheyLack(t, c, dom)
			if err := end.do(t.Context(), c, dom); err != nil {
				t.Fatalf("%s, %s: %v", kind.name, end.name, err)
			}
			awaitEnd(t, events)
			if a, b := nics(d); a != 0 || b != 0 {
				t.Errorf("%s, %s: %d taps and %d macvtaps are left", kind.name, end.name, a, b)
			}
		}
		if err := c.UndefineDomain(t.Context(), dom, 0); err != nil {
			t.Error(err)
		}
	}
	nothingIsLeft(t, d)
}

// saysWhatTheyLack holds that 82 NICs are said to have fewer interrupts than they would take from one processor.
func saysWhatTheyLack(t *testing.T, c *client.Client, dom remote.Domain) {
	t.Helper()
	const want = "its 82 virtio NICs would take 246 interrupts by message"
	s, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Problems, func(p string) bool { return strings.HasPrefix(p, "domain '"+dom.Name+"': "+want) }) {
		t.Errorf("the problems are %q", s.Problems)
	}
	var messages remote.Strings
	if err := c.Call(t.Context(), remote.ProgramRemote, remote.ProcDomainGetMessages, &remote.DomainFlags{Domain: dom}, &messages); err != nil {
		t.Fatal(err)
	}
	if len(messages.S) != 1 || !strings.HasPrefix(messages.S[0], want) {
		t.Errorf("the messages are %q", messages.S)
	}
}

// kill kills a guest's QEMU.
func kill(d *daemontest.Daemon, dom remote.Domain) error {
	var file struct{ PID int }
	b, err := os.ReadFile(filepath.Join(d.Paths().Guest(dom.UUID.String()), "pid"))
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil || file.PID == 0 {
		return fmt.Errorf("pid file %q: %w", b, err)
	}
	return unix.Kill(file.PID, unix.SIGKILL)
}

// awaitEnd returns when a guest has ended, and been cleared away.
func awaitEnd(t *testing.T, events <-chan any) {
	t.Helper()
	const stopped = 5 // VIR_DOMAIN_EVENT_STOPPED
	var progress emutest.Progress
	late, cancel := emutest.Watch(t.Context(), 1, &progress)
	defer cancel()
	for {
		select {
		case e, ok := <-events:
			progress.Event(fmt.Sprintf("the daemon's event %+v", e))
			if l, is := e.(client.DomainLifecycle); is && l.Event == stopped {
				return
			}
			if !ok {
				t.Fatal("the daemon tells of no events any more")
			}
		case <-late.Done():
			t.Fatalf("nobody was told that the guest ended: %v", context.Cause(late))
		}
	}
}
