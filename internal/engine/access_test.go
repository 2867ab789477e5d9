package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/alloc"
	"taproom/internal/network/packet"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// onLink is an engine in a namespace with a link that leads nowhere, low0.
func onLink(t *testing.T) (*Engine, *hosttest.NS) {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link low0", "link far0")
	ns.Shell("ip link add low0 type veth peer name far0; ip link set low0 up; ip link set far0 up")
	e := namer(t, ns, 7)
	for template, names := range map[string]**alloc.Names{macvtapTemplate: &e.macvtaps, macvlanTemplate: &e.macvlans} {
		var err error
		if *names, err = e.links.Of(template); err != nil {
			t.Fatal(err)
		}
	}
	return e, ns
}

// asks is a guest's record that asks for addresses of the host on low0.
func asks(addresses ...string) *record {
	one := hostAccess{Lower: "low0"}
	for _, a := range addresses {
		one.Addresses = append(one.Addresses, netip.MustParsePrefix(a))
	}
	return &record{Name: "guest", UUID: spec.NewUUID(), Access: []hostAccess{one}}
}

// there are the macvlans and their addresses, as "macvlan0@low0 192.0.2.1/24".
func there(ns *hosttest.NS) string {
	var out []string
	for line := range strings.Lines(ns.Shell("ip -br address show type macvlan")) {
		f := strings.Fields(line)
		out = append(out, strings.Join(append(f[:1:1], f[2:]...), " "))
	}
	return strings.Join(out, "\n")
}

func TestGuestsShareTheHostsAccessAndTheLastTakesItAway(t *testing.T) {
	t.Parallel()
	e, ns := onLink(t)
	first, second := asks("192.0.2.1/24"), asks("192.0.2.1/24", "192.0.2.2/24", "fd00::1/64")
	grant := func(r *record) {
		t.Helper()
		written, before := "", there(ns)
		if err := e.grantAccess(t.Context(), r, func() error {
			written = r.Access[0].Name
			if now := there(ns); now != before {
				t.Errorf("it was made before it was written down: there was %q, and is %q", before, now)
			}
			return nil
		}); err != nil || written != r.Access[0].Name || written == "" {
			t.Fatalf("%v; %q is written down, of %q", err, written, r.Access[0].Name)
		}
	}
	leave := func(r *record) {
		t.Helper()
		for range 2 { // it may be called again
			if err := e.leaveAccess(t.Context(), r.UUID); err != nil {
				t.Error(err)
			}
		}
	}
	is := func(want string) {
		t.Helper()
		if got := there(ns); got != want {
			t.Errorf("there is %q, want %q", got, want)
		}
	}
	grant(first)
	is("macvlan0@low0 192.0.2.1/24")
	l, err := e.k.LinkByName("macvlan0")
	if err != nil || l.Alias != "taproom:host-low0" || l.Group != 7 {
		t.Errorf("its label is %q of group %d (%v)", l.Alias, l.Group, err)
	}
	mac := l.MAC
	grant(second)
	is("macvlan0@low0 192.0.2.1/24 192.0.2.2/24 fd00::1/64")
	if err := e.grantAccess(t.Context(), asks("192.0.2.2/30"), func() error { return nil }); err == nil || !strings.Contains(err.Error(), "asked for 192.0.2.2/24 on low0") {
		t.Errorf("another prefix: %v", err)
	}
	// Another daemon finds both, and that the first has ended meanwhile.
	e.access = accesses{}
	e.recallAccess(*first)
	e.recallAccess(*second)
	if got := e.accessNow().Macvlans["macvlan0"]; !got.Held || len(got.Addresses) != 3 {
		t.Errorf("recalled: %+v", got)
	}
	leave(first)
	is("macvlan0@low0 192.0.2.1/24 192.0.2.2/24 fd00::1/64")
	grant(first)
	leave(second)
	is("macvlan0@low0 192.0.2.1/24")
	ns.Run("ip", "link", "del", "macvlan0") // somebody does
	e.restoreAccess(t.Context())
	is("macvlan0@low0 192.0.2.1/24")
	if l, err := e.k.LinkByName("macvlan0"); err != nil || l.MAC != mac || !strings.HasPrefix(mac, "02:") {
		t.Errorf("its address was %s and is %s (%v)", mac, l.MAC, err)
	}
	leave(first)
	is("")
	if len(e.access.byLower) != 0 {
		t.Errorf("it is still known of: %v", e.access.byLower)
	}
}

func TestHostAccessWhoseNameIsTakenGetsAnother(t *testing.T) {
	t.Parallel()
	e, ns := onLink(t)
	ns.Keep("link macvlan0")
	ns.Run("ip", "link", "add", "macvlan0", "type", "bridge")
	r := asks("192.0.2.1/24")
	if err := e.grantAccess(t.Context(), r, func() error { return nil }); err != nil || r.Access[0].Name != "macvlan1" {
		t.Errorf("got %q, %v", r.Access[0].Name, err)
	}
	if err := e.leaveAccess(t.Context(), r.UUID); err != nil || there(ns) != "" {
		t.Errorf("left %q, %v", there(ns), err)
	}
	ns.Run("ip", "link", "del", "macvlan0")
}

// Without the macvlan the host and a macvtap on its link do not hear each other; with it they talk.
func TestTheHostReachesAMacvtapOverItsAccess(t *testing.T) {
	t.Parallel()
	e, ns := onLink(t)
	guest := record{UUID: spec.NewUUID(), Ports: []port{{Name: "macvtap0", MAC: "52:54:00:00:00:01", Direct: &directPort{Lower: "low0", Mode: "bridge"}}}}
	env, err := e.makeLinks(t.Context(), guest, guest.Ports, nil, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	tap := env.Taps["macvtap0"].Files[0]
	done := make(chan error, 1)
	go func() { done <- echo(tap, netip.MustParseAddr("192.0.2.7"), "52:54:00:00:00:01") }()
	r := asks("192.0.2.1/24")
	if err := e.grantAccess(t.Context(), r, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	ns.Do(func() { err = said("192.0.2.7:7") })
	if err != nil {
		t.Error(err)
	}
	if err := errors.Join(e.leaveAccess(t.Context(), r.UUID), e.removePorts(t.Context(), guest), env.CloseTaps()); err != nil {
		t.Error(err)
	}
	<-done
}

// said sends datagrams until one comes back.
func said(to string) error {
	c, err := net.Dial("udp4", to)
	if err != nil {
		return err
	}
	defer c.Close()
	for range 600 {
		if _, err := c.Write([]byte("is anybody there")); err != nil {
			continue // nobody has answered who has the address
		}
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		b := make([]byte, 100)
		if n, err := c.Read(b); err == nil && string(b[:n]) == "is anybody there" {
			return nil
		}
	}
	return errors.New("nothing came back")
}

// echo is a guest with an address that sends datagrams back, until its tap goes.
func echo(tap *os.File, own netip.Addr, address string) error {
	const header = 10 // virtio_net_hdr
	mac, _ := packet.ParseMAC(address)
	b := make([]byte, 65536)
	for {
		n, err := tap.Read(b)
		if err != nil {
			return err
		}
		if n < header {
			return fmt.Errorf("a frame of %d bytes", n)
		}
		frame := b[header:n]
		var reply []byte
		if a, err := packet.ParseARP(frame); err == nil && a.Target == own {
			reply = (&packet.ARP{From: mac, To: a.From, Op: packet.ARPReply, SenderMAC: mac, OwnerMAC: a.From, Sender: own, Target: a.Sender}).Frame()
		} else if d, err := packet.ParseUDP4(frame, true); err == nil && d.Dst.Addr() == own {
			reply = (&packet.Datagram{From: mac, To: d.From, Src: d.Dst, Dst: d.Src, Payload: d.Payload}).Frame()
		}
		if reply == nil {
			continue
		}
		if _, err := tap.Write(append(make([]byte, header), reply...)); err != nil {
			return err
		}
	}
}

// What a start would make is said, and nothing is taken for it.
func TestThePlanOfAStartShowsTheHostsAccess(t *testing.T) {
	t.Parallel()
	e, ns := onLink(t)
	plan := func() string {
		t.Helper()
		want := state.State{Macvlans: map[string]state.Macvlan{}, Lowers: map[string]state.Lower{"low0": {}}}
		release, err := e.planAccess(*asks("192.0.2.1/24", "fd00::1/64"), &want)
		defer release()
		if err != nil {
			t.Fatal(err)
		}
		p, err := planFor(t.Context(), e.env(), want, want.Scope())
		if err != nil {
			t.Fatal(err)
		}
		return p.String()
	}
	for range 2 {
		for _, line := range []string{"ip link add link low0 name macvlan", "type macvlan mode bridge", "ip address add 192.0.2.1/24 broadcast + dev macvlan", "ip address add fd00::1/64 dev macvlan", "alias taproom:host-low0"} {
			if got := plan(); !strings.Contains(got, line) {
				t.Errorf("no %q in\n%s", line, got)
			}
		}
	}
	if there(ns) != "" || len(e.access.byLower) != 0 {
		t.Errorf("there is %q, and %v is known of", there(ns), e.access.byLower)
	}
	r := asks("192.0.2.9/24")
	if err := e.grantAccess(t.Context(), r, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := plan(); strings.Contains(got, "link add") || !strings.Contains(got, "ip address add 192.0.2.1/24 broadcast + dev "+r.Access[0].Name) {
		t.Errorf("beside one that there is:\n%s", got)
	}
	if err := e.leaveAccess(t.Context(), r.UUID); err != nil {
		t.Error(err)
	}
}

// A guest whose record was damaged keeps what there is and nobody else asked for, until it ends.
func TestAGuestThatNothingIsKnownOfKeepsTheHostsAccess(t *testing.T) {
	t.Parallel()
	e, ns := onLink(t)
	r := asks("192.0.2.1/24")
	if err := e.grantAccess(t.Context(), r, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	e.access.byLower = nil
	got, err := state.Observe(t.Context(), e.env(), e.everything(state.State{}))
	if err != nil {
		t.Fatal(err)
	}
	e.keepAccess(r.UUID, got.State)
	now := e.accessNow()
	if _, err := e.converge(t.Context(), now, e.everything(now)); err != nil || there(ns) != "macvlan0@low0 192.0.2.1/24" {
		t.Errorf("%v; there is %q, and should be %+v", err, there(ns), now)
	}
	if err := e.leaveAccess(t.Context(), r.UUID); err != nil || there(ns) != "" {
		t.Errorf("%v; left %q", err, there(ns))
	}
}
