package clienttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/api/client"
	"taproom/internal/api/server"
	"taproom/internal/appliance"
	"taproom/internal/appliance/wire"
	"taproom/internal/qemu/emutest"
	"taproom/internal/qemu/qmp"
)

// machine is a guest that boots.
type machine struct {
	*clients
	name     string
	client   *client.Client
	progress emutest.Progress
}

// fixtures of guests that boot, below testdata: a network and a guest on it.
const (
	bootNetwork = "boot-network.xml"
	bootGuest   = "boot-guest.xml"
)

// prepare writes the documents of a network and of a guest on it that boots; replace changes them.
func (c *clients) prepare(replace ...string) {
	c.t.Helper()
	g, err := appliance.Ensure(c.t.Context(), appliance.Options{AgentPath: filepath.Join(c.daemon.Programs(), "taproom-agent")})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range []string{bootNetwork, bootGuest} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			c.t.Fatal(err)
		}
		doc := strings.NewReplacer("KERNEL", g.Kernel, "INITRD", g.Initrd, "CMDLINE", g.Cmdline).Replace(c.fill(string(b)))
		c.write(name, strings.NewReplacer(replace...).Replace(doc))
	}
}

// install defines and starts the network, and defines the guest.
func (c *clients) install(replace ...string) *machine {
	c.t.Helper()
	c.prepare(replace...)
	c.do("net-define", bootNetwork)
	c.do("net-start", "lab")
	// That the guest gets this address, and after reboots again, is for the daemon's helper to follow.
	c.write("host.xml", "<host mac='52:54:00:00:00:01' name='demo' ip='192.168.151.11'/>")
	c.do("net-update", "lab", "add", "ip-dhcp-host", "host.xml", "--live", "--config")
	c.do("define", bootGuest)
	m := &machine{clients: c, name: "demo", client: c.daemon.Client()}
	m.follow()
	return m
}

// follow notes the daemon's events of guests as progress, until that daemon ends.
func (m *machine) follow() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	events, _, err := m.daemon.Client().Lifecycle(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() {
		for {
			select {
			case e, ok := <-events:
				if !ok {
					return
				}
				m.progress.Event(fmt.Sprintf("the daemon's event %+v", e))
			case <-ctx.Done():
				return
			}
		}
	})
	m.t.Cleanup(func() {
		cancel()
		over.Wait()
	})
}

// ask puts a question to the agent in the guest. Where the guest itself waits for leases, or sends and receives, there is nothing that tells
// of its progress.
func ask[T any](m *machine, op wire.Op, args any) T {
	m.t.Helper()
	progress := &m.progress
	if op == wire.OpNetwork || op == wire.OpTraffic {
		progress = nil
	}
	ctx, cancel := emutest.Watch(m.t.Context(), 1, progress)
	defer cancel()
	request, err := json.Marshal(map[string]any{"op": op, "args": args})
	if err != nil {
		m.t.Fatal(err)
	}
	reply, err := m.client.Agent(ctx, m.name, request)
	if err != nil {
		m.t.Fatalf("ask the guest for %s: %v; %v\nthe daemon said: %s", op, err, context.Cause(ctx), m.daemon.Said())
	}
	m.progress.Event("the agent's answer to " + string(op))
	var answer T
	if len(reply) > 0 {
		if err := json.Unmarshal(reply, &answer); err != nil {
			m.t.Fatal(err)
		}
	}
	return answer
}

// boot waits until the guest is up and returns the identity of this boot of it.
func (m *machine) boot() string {
	m.t.Helper()
	h := ask[wire.Hello](m, wire.OpHello, wire.HelloWait{Seconds: 4 * emutest.Seconds()})
	if !h.Ready {
		m.t.Fatalf("the guest is not ready: %+v", h)
	}
	return h.BootID
}

// lease waits until the guest has an address and returns it.
func (m *machine) lease() string {
	m.t.Helper()
	n := ask[wire.Network](m, wire.OpNetwork, wire.NetworkWait{Leases: 1, Seconds: 4 * emutest.Seconds()})
	for _, nic := range n.NICs {
		if nic.Lease != nil {
			return nic.Lease.Address
		}
	}
	m.t.Fatalf("the guest has no lease: %+v", n)
	return ""
}

// A guest on its network, from definition to power-off: one guest serves many questions.
func TestABootedGuestAsItsClientsSeeIt(t *testing.T) {
	t.Parallel()
	c := serve(t)
	nets, events := c.networkEvents(), c.events()
	m := c.install()
	first := m.start()
	m.reach(m.lease())
	m.nicIsCounted()
	c.tell("booted.live")
	m.do("suspend", "demo")
	m.do("resume", "demo")

	// virsh reboot: the power button, and then the guest comes back.
	m.do("reboot", "demo")
	events.line("event 'reboot' for domain 'demo'")
	second := m.boot()
	if second == first {
		t.Errorf("the guest did not boot again")
	}
	// virsh reset: without asking the guest.
	m.do("reset", "demo")
	events.line("event 'reboot' for domain 'demo'")
	third := m.boot()
	if third == second {
		t.Errorf("the guest did not boot again when it was reset")
	}
	// The guest restarts itself.
	ask[any](m, wire.OpReboot, nil)
	events.line("event 'reboot' for domain 'demo'")
	m.lease()
	m.boot() // a guest that has not loaded the driver of its power button does not see it pressed
	c.tell("booted.back")

	m.do("shutdown", "demo")
	events.line("event 'lifecycle' for domain 'demo': Stopped Shutdown")
	c.tell("booted.off")
	nets.line("event 'lifecycle' for network lab: Undefined")
	c.golden("booted.events", events.all()+nets.all())
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// The daemon dies and the guest does not; what the guest did meanwhile is found out.
func TestAGuestOutlivesItsDaemon(t *testing.T) {
	t.Parallel()
	c := serve(t)
	m := c.install()
	first := m.start()
	m.reach(m.lease())
	m.restart("kill")
	m.client = m.daemon.Client()
	if again := m.boot(); again != first {
		t.Errorf("the guest booted again when the daemon did: %s, before %s", again, first)
	}
	m.lease() // asks the DHCP server of the same network again, in its own time
	c.tell("adopted.live")

	// It ends while no daemon is there, and the next one finds out.
	tty := strings.TrimSpace(m.do("ttyconsole", "demo"))
	m.daemon.Kill()
	m.typeOff(tty)
	if err := m.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	m.client = m.daemon.Client()
	m.ended()
	c.tell("adopted.off")
}

// start starts the guest and waits until it is up. It returns the identity of this boot, as boot does.
func (m *machine) start() string {
	m.t.Helper()
	defer emutest.Boot(m.t)()
	m.do("start", m.name)
	return m.boot()
}

// ended waits until the guest is shut off.
func (m *machine) ended() {
	m.t.Helper()
	var progress emutest.Progress
	ctx, cancel := emutest.Watch(m.t.Context(), 1, &progress)
	defer cancel()
	events, stop, err := m.client.Lifecycle(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	d, err := m.client.Domain(ctx, m.name)
	if err != nil {
		m.t.Fatal(err)
	}
	for {
		state, err := m.client.DomainState(ctx, d)
		if err != nil {
			m.t.Fatal(err)
		}
		if state.State == server.DomainShutoff {
			break
		}
		select {
		case e := <-events:
			progress.Event(fmt.Sprintf("the daemon's event %+v", e))
		case <-ctx.Done():
			m.t.Fatalf("the guest does not end: %v; the daemon said: %s", context.Cause(ctx), m.daemon.Said())
		}
	}
	if err := stop(ctx); err != nil {
		m.t.Fatal(err)
	}
}

// typeOff powers the guest off at its console and waits for its end, as nobody's daemon.
func (m *machine) typeOff(tty string) {
	m.t.Helper()
	var progress emutest.Progress
	ctx, cancel := emutest.Watch(m.t.Context(), 1, &progress)
	defer cancel()
	q, err := qmp.Dial(ctx, m.daemon.NS.Kernel(), filepath.Join(m.daemon.Paths().Guest("00000000-0000-4000-8000-000000000001"), "qmp.sock"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer q.Close()
	console, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer console.Close()
	if _, err := console.WriteString("poweroff\n"); err != nil {
		m.t.Fatal(err)
	}
	for {
		select {
		case ev, ok := <-q.Events():
			if !ok {
				m.t.Fatalf("QEMU is gone: %v", q.Err())
			}
			progress.Event("QMP event " + ev.Name)
			if ev.Name == "SHUTDOWN" {
				return
			}
		case <-ctx.Done():
			m.t.Fatalf("the guest does not power off: %v", context.Cause(ctx))
		}
	}
}

// reach exchanges a byte with the guest from the host, so that each knows where the other is.
func (m *machine) reach(address string) {
	m.t.Helper()
	l := ask[wire.Listening](m, wire.OpListen, wire.Listen{Protocol: "tcp"})
	host, _, _ := strings.Cut(address, "/")
	var err error
	m.daemon.NS.Do(func() { err = echoes("tcp", net.JoinHostPort(host, strconv.Itoa(l.Port))) })
	if err != nil {
		m.t.Fatalf("reach the guest at %s: %v", address, err)
	}
}

// echoes exchanges a byte with who listens at an address.
func echoes(protocol, at string) error {
	conn, err := net.DialTimeout(protocol, at, emutest.Patience())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(emutest.Patience())); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

// inState says so when the guest is in another state, or for another reason.
func (m *machine) inState(want string) {
	m.t.Helper()
	if got := strings.TrimSpace(m.do("domstate", m.name, "--reason")); got != want {
		m.t.Errorf("the guest is %s, want %s", got, want)
	}
}

func (m *machine) running() bool {
	m.t.Helper()
	return strings.Contains(m.do("list", "--name"), m.name)
}
