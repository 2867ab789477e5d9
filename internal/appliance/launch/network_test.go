package launch

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/launchtest"
	"taproom/internal/appliance/proto"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// page is what the tests' server says.
const page = "fetched over the network"

// server says its page to everybody until the test ends. It listens on an address in a namespace, or in this one where that is nil.
func server(t *testing.T, ns *hosttest.NS, address string) string {
	t.Helper()
	var l net.Listener
	var err error
	listen := func() { l, err = net.Listen("tcp", net.JoinHostPort(address, "0")) }
	if ns != nil {
		ns.Do(listen)
	} else {
		listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(page))
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// says runs the tool in an appliance and returns what it prints.
func says(t *testing.T, a *Appliance, args ...string) string {
	t.Helper()
	var out, diagnostics bytes.Buffer
	e, err := a.Agent().Run(t.Context(), proto.Command{Run: proto.Run{Args: append([]string{"tool"}, args...)}, Stdout: &out, Stderr: &diagnostics})
	if err != nil || e != (proto.Exit{}) {
		t.Errorf("%q: %+v, %v: %s", args, e, err, diagnostics.String())
	}
	return out.String()
}

// networked is a spec of appliances with a NIC and a program that can use it.
func networked(t *testing.T, way Way) Spec {
	t.Helper()
	s := spec(t, way)
	s.NIC, s.Files.Tools = true, launchtest.Tools(t)
	return s
}

// overQEMUsOwn fetches from the host by the network that QEMU has of its own.
func overQEMUsOwn(t *testing.T, a *Appliance) {
	l, err := a.Connect(t.Context(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Address != netip.MustParsePrefix("10.0.2.15/24") || l.Gateway != netip.MustParseAddr("10.0.2.2") || len(l.DNS) != 1 {
		t.Errorf("DHCP has given it %+v", l)
	}
	if got := says(t, a, "fetch", "10.0.2.2:"+server(t, nil, "127.0.0.1")); got != page {
		t.Errorf("fetched %q", got)
	}
	if got := says(t, a, "read", "/etc/resolv.conf"); got != "nameserver 10.0.2.3\n" {
		t.Errorf("its servers of names: %q", got)
	}
	if _, err := a.Connect(t.Context(), Network{}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time: %v", err)
	}
	if _, err := a.HandOver(); err == nil || !strings.Contains(err.Error(), "a network") {
		t.Errorf("handed over to somebody else: %v", err)
	}
}

// overATap fetches from a server in a namespace, by a tap there.
func overATap(t *testing.T, ns *hosttest.NS, a *Appliance) {
	tap, err := ns.Kernel().CreateTap(host.TapSpec{Name: "tap0", Queues: 1, VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	ns.Run("ip", "address", "add", "192.168.150.1/24", "dev", "tap0")
	ns.Run("ip", "link", "set", "tap0", "up")
	if err := connectUntilAsked(t, ns, a, tap.Files[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("without a DHCP server: %v", err)
	}
	mac, err := net.ParseMAC("52:54:00:77:00:01")
	if err != nil {
		t.Fatal(err)
	}
	want := Link{
		MAC: mac, Address: netip.MustParsePrefix("192.168.150.2/24"), Gateway: netip.MustParseAddr("192.168.150.1"),
		DNS: []netip.Addr{netip.MustParseAddr("192.168.150.1")},
	}
	l, err := a.Connect(t.Context(), Network{Tap: tap.Files[0], MAC: mac, Address: want.Address, Gateway: want.Gateway, DNS: want.DNS})
	if err != nil {
		t.Fatal(err)
	}
	if l.Address != want.Address || l.Gateway != want.Gateway || !slices.Equal(l.DNS, want.DNS) || l.MAC.String() != mac.String() {
		t.Errorf("it has %+v, want %+v", l, want)
	}
	if got := says(t, a, "fetch", "192.168.150.1:"+server(t, ns, "192.168.150.1")); got != page {
		t.Errorf("fetched %q", got)
	}
	if got := ns.Run("ip", "neighbour", "show", "192.168.150.2"); !strings.Contains(got, mac.String()) {
		t.Errorf("the host has heard of it as %q", got)
	}
}

// connectUntilAsked waits no more when the appliance has asked for an address.
func connectUntilAsked(t *testing.T, ns *hosttest.NS, a *Appliance, tap *os.File) error {
	t.Helper()
	var asked net.PacketConn
	var err error
	ns.Do(func() { asked, err = net.ListenPacket("udp4", ":67") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer asked.Close()
	waiting.Go(func() {
		if _, _, err := asked.ReadFrom(make([]byte, 2000)); err == nil {
			cancel()
		}
	})
	_, err = a.Connect(ctx, Network{Tap: tap})
	return err
}

func TestAnApplianceFetchesOverItsNetwork(t *testing.T) {
	t.Parallel()
	for _, way := range []Way{WayCold, WayTemplate} {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			l, err := open(t, networked(t, way))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got, why := l.Way(); got != way {
				t.Fatalf("the way is %v: %s", got, why)
			}
			ns := hosttest.NewNS(t) // which goes when the appliance has let go of its tap
			a := launched(t, l)
			confined(t, a)
			if way == WayCold {
				overQEMUsOwn(t, a)
				return
			}
			overATap(t, ns, a)
			h, err := launched(t, l).HandOver()
			if err != nil {
				t.Fatal(err)
			}
			taken, err := Adopt(t.Context(), Spec{}, h)
			if err != nil {
				t.Fatal(err)
			}
			defer closed(t, taken)
			overQEMUsOwn(t, taken)
		})
	}
}

func TestAnApplianceHasNoNetworkUnlessAsked(t *testing.T) {
	t.Parallel()
	s := networked(t, WayCold)
	s.NIC = false
	a, err := boot(t, s)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, a)
	for _, line := range strings.Split(strings.TrimSpace(says(t, a, "read", "/proc/net/dev")), "\n")[2:] { // below two of headings
		if link, _, _ := strings.Cut(strings.TrimSpace(line), ":"); link != "lo" {
			t.Errorf("it has the link %s", link)
		}
	}
	if _, err := a.Connect(t.Context(), Network{}); !errors.Is(err, ErrNoNIC) {
		t.Errorf("connecting: %v, want ErrNoNIC", err)
	}
	if t.Failed() {
		return // with a NIC, the next question would be asked of a network with nobody on it
	}
	if _, err := a.Agent().Connect(t.Context(), proto.Connect{}); !errors.Is(err, unix.ENODEV) {
		t.Errorf("its first process: %v, want ENODEV", err)
	}
}

func TestANetworkThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := spec(t, WayCold)
	s.NIC, s.Files.Network = true, false
	if a, err := Launch(t.Context(), s); err == nil || !strings.Contains(err.Error(), "build.Options.Network") {
		t.Errorf("with a kernel that has no network: %v, %v", a, err)
	}
	s.Way, s.Libvirt, s.Files.Network = WayLibvirt, "qemu:///session", true
	if a, err := Launch(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not for a domain") {
		t.Errorf("as a domain of libvirt's: %v, %v", a, err)
	}
	group, err := net.ParseMAC("01:00:5e:00:00:01")
	if err != nil {
		t.Fatal(err)
	}
	inside := netip.MustParsePrefix("10.9.0.2/24")
	for want, n := range map[string]Network{
		"no address of a NIC":           {MAC: group},
		"is not in the network":         {Address: inside, Gateway: netip.MustParseAddr("10.8.0.1")},
		"are for an address that is sa": {Gateway: netip.MustParseAddr("10.9.0.1")},
	} {
		if err := n.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", n, err, want)
		}
	}
	for _, said := range []proto.Link{{}, {Address: "10.0.0.1/24", Gateway: "x"}, {Address: "10.0.0.1/24", DNS: []string{"x"}}} {
		if l, err := readLink(said); err == nil {
			t.Errorf("a guest that says %+v has %+v", said, l)
		}
	}
}
