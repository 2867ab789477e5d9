package host_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestBridgeComesUpAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	index, err := k.CreateBridge(host.BridgeSpec{Name: "virbr0", MAC: "52:54:00:aa:bb:cc", MTU: 1400, Group: 0x7461, STP: true, Delay: 200})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.LinkByName("virbr0")
	if err != nil {
		t.Fatal(err)
	}
	want := host.Link{
		Index: index, Name: "virbr0", Kind: "bridge", MAC: "52:54:00:aa:bb:cc", MTU: 1400, Group: 0x7461,
		Bridge: host.Bridge{STP: true, Delay: 200, KnowsVLANs: got.Bridge.KnowsVLANs}, // not every kernel does
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("created down and without an alias (-want +got):\n%s", d)
	}
	must(t, k.SetAlias(index, "taproom:0c6c8a54"))
	must(t, k.SetUp(index, true))
	want.Alias, want.Up = "taproom:0c6c8a54", true
	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]host.Link{want}, links[1:]); d != "" {
		t.Errorf("the dump (-want +got):\n%s", d)
	}
	must(t, k.DeleteLink(index))
	must(t, k.DeleteLink(index)) // gone already
	if _, err := k.LinkByIndex(index); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("look up after delete: %v, want ErrNoLink", err)
	}
}

func TestTakenNamesAreRefused(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link br0", "link v?")
	k := ns.Kernel()
	ns.Run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	tap, err := k.CreateTap(host.TapSpec{Name: "vnet0", VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer removeTap(t, k, tap)
	if _, err := k.CreateBridge(host.BridgeSpec{Name: "br0"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vnet0", "br0", "v0"} {
		if _, err := k.CreateBridge(host.BridgeSpec{Name: name}); !errors.Is(err, host.ErrTaken) || !errors.Is(err, unix.EEXIST) {
			t.Errorf("bridge %s: %v, want ErrTaken and EEXIST", name, err)
		}
		if _, err := k.CreateTap(host.TapSpec{Name: name}); !errors.Is(err, host.ErrTaken) {
			t.Errorf("tap %s: %v, want ErrTaken", name, err)
		}
	}
	if _, err := k.CreateTap(host.TapSpec{Name: strings.Repeat("x", 16)}); err == nil || errors.Is(err, host.ErrTaken) {
		t.Errorf("a name of 16 bytes: %v, want a refusal that is not ErrTaken", err)
	}
}

func TestTapIsAPortInOneMessageAndGoesWithItsLastDescriptor(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	bridge, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	if err != nil {
		t.Fatal(err)
	}
	tap, err := k.CreateTap(host.TapSpec{Name: "vnet3", Queues: 2, VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	must(t, k.SetLink(tap.Index, host.LinkSettings{MAC: "fe:54:00:00:00:01", MTU: 1450, Group: 7, Master: bridge, Up: true}))
	must(t, k.SetAlias(tap.Index, "taproom:x"))
	got, err := k.LinkByIndex(tap.Index)
	if err != nil {
		t.Fatal(err)
	}
	want := host.Link{Index: tap.Index, Name: "vnet3", Kind: "tun", MAC: "fe:54:00:00:00:01", MTU: 1450, Group: 7, Alias: "taproom:x", Master: bridge, Up: true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tap (-want +got):\n%s", d)
	}
	if len(tap.Files) != 2 {
		t.Errorf("%d descriptors for two queues", len(tap.Files))
	}
	gone := linkEvents(t, ns)
	must(t, tap.Close())
	gone(unix.RTM_DELLINK, tap.Index)
	if _, err := k.LinkByName("vnet3"); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("after the last descriptor was closed: %v, want ErrNoLink", err)
	}
	must(t, k.DeleteLink(bridge))
}

func TestEverySettingChangesOnItsOwn(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	bridge, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	must(t, err)
	tap, err := k.CreateTap(host.TapSpec{Name: "vnet0"})
	must(t, err)
	must(t, errors.Join(k.SetMAC(tap.Index, "fe:00:00:00:00:09"), k.SetMTU(tap.Index, 1300), k.SetGroup(tap.Index, 5),
		k.SetMaster(tap.Index, bridge), k.SetUp(tap.Index, true), k.SetBridge(bridge, host.Bridge{Delay: 300})))
	got, err := k.Links()
	must(t, err)
	want := []host.Link{
		{Index: bridge, Name: "br0", Kind: "bridge", MTU: 1300, Bridge: host.Bridge{Delay: 300, KnowsVLANs: got[1].Bridge.KnowsVLANs}},
		{Index: tap.Index, Name: "vnet0", Kind: "tun", MAC: "fe:00:00:00:00:09", MTU: 1300, Group: 5, Master: bridge, Up: true},
	}
	ignoreMAC := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "MAC" }, cmp.Comparer(func(a, b string) bool { return a == "" || b == "" || a == b }))
	if d := cmp.Diff(want, got[1:], ignoreMAC); d != "" {
		t.Errorf("links (-want +got):\n%s", d)
	}
	must(t, k.SetMaster(tap.Index, 0))
	l, err := k.LinkByIndex(tap.Index)
	if err != nil || l.Master != 0 {
		t.Errorf("taken off its bridge: master %d, %v", l.Master, err)
	}
	removeTap(t, k, tap)
	must(t, k.DeleteLink(bridge))
	if err := k.SetUp(bridge, true); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("set a link that is gone: %v, want ErrNoLink", err)
	}
	if err := k.DeleteLink(0); err == nil {
		t.Error("deleting index 0 was accepted")
	}
}

func TestAddressesAreListedSorted(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	bridge, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	must(t, err)
	must(t, k.SetSysctl("net/ipv6/conf/br0/addr_gen_mode", "1")) // none of the kernel's own
	must(t, k.SetUp(bridge, true))
	want := []netip.Prefix{
		netip.MustParsePrefix("10.9.0.1/16"), netip.MustParsePrefix("192.168.7.1/24"),
		netip.MustParsePrefix("fd00::1/64"), netip.MustParsePrefix("fe80::1/64"),
	}
	for _, p := range slices.Backward(want) {
		must(t, k.AddAddress(bridge, p))
		must(t, k.AddAddress(bridge, p))
	}
	got, err := k.Addresses(bridge)
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); d != "" || err != nil {
		t.Errorf("addresses (-want +got), %v:\n%s", err, d)
	}
	if out := ns.Run("ip", "-4", "address", "show", "dev", "br0"); !strings.Contains(out, "brd 10.9.255.255") || !strings.Contains(out, "brd 192.168.7.255") {
		t.Errorf("no broadcast addresses in\n%s", out)
	}
	// An address that others are asked about is tentative at first, and for ever without a carrier.
	if out := ns.Run("ip", "-6", "address", "show", "dev", "br0"); strings.Contains(out, "tentative") || strings.Count(out, "nodad") != 2 {
		t.Errorf("IPv6 addresses are not good at once:\n%s", out)
	}
	ns.Run("ip", "-6", "route", "add", "2001:db8::/48", "dev", "br0", "proto", "ra")
	routes, err := k.Routes()
	wantRoutes := []host.Route{
		{To: netip.MustParsePrefix("10.9.0.0/16"), Link: bridge},
		{To: netip.MustParsePrefix("192.168.7.0/24"), Link: bridge},
		{To: netip.MustParsePrefix("2001:db8::/48"), Link: bridge, Metric: 1024, Advertised: true},
		{To: netip.MustParsePrefix("fd00::/64"), Link: bridge, Metric: 256},
		{To: netip.MustParsePrefix("fe80::/64"), Link: bridge, Metric: 256},
	}
	if d := cmp.Diff(wantRoutes, routes, cmpopts.EquateComparable(netip.Prefix{})); d != "" || err != nil {
		t.Errorf("routes (-want +got), %v:\n%s", err, d)
	}
	for _, p := range want {
		must(t, k.DelAddress(bridge, p))
		must(t, k.DelAddress(bridge, p))
	}
	if got, err := k.Addresses(bridge); len(got) != 0 || err != nil {
		t.Errorf("after their removal: %v, %v", got, err)
	}
	must(t, k.DeleteLink(bridge))
	// A failed dump: with extended acknowledgements the library panics here.
	if got, err := k.Addresses(bridge); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("of a link that has gone: %v, %v, want ErrNoLink", got, err)
	}
}

func TestSysctlsAreThoseOfTheNamespace(t *testing.T) {
	t.Parallel()
	a, b := hosttest.NewNS(t), hosttest.NewNS(t)
	for _, v := range []string{"0", "1"} {
		must(t, a.Kernel().SetSysctl("net/ipv4/ip_forward", v))
		got, err := a.Kernel().Sysctl("net/ipv4/ip_forward")
		if got != v || err != nil {
			t.Errorf("wrote %s, read %q, %v", v, got, err)
		}
	}
	must(t, b.Kernel().SetSysctl("net/ipv4/ip_forward", "0"))
	if got, _ := a.Kernel().Sysctl("net/ipv4/ip_forward"); got != "1" {
		t.Errorf("a write in another namespace changed it to %q", got)
	}
	if err := a.Kernel().SetSysctl("../../etc/passwd", "x"); err == nil {
		t.Error("a path outside /proc/sys was accepted")
	}
}

func TestCountersCountFrames(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	tap, err := k.CreateTap(host.TapSpec{Name: "vnet0"})
	must(t, err)
	defer removeTap(t, k, tap)
	must(t, k.SetSysctl("net/ipv6/conf/vnet0/disable_ipv6", "1"))
	must(t, k.SetUp(tap.Index, true))
	frame := make([]byte, 60)
	copy(frame, "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5")
	if _, err := tap.Files[0].Write(frame); err != nil {
		t.Fatal(err)
	}
	got, err := k.LinkStats("vnet0")
	// tun reports RxBytes without the Ethernet header
	if want := (host.LinkStats{RxPackets: 1, RxBytes: 46}); got.RxPackets != want.RxPackets || got.RxBytes == 0 || got.TxBytes != 0 || err != nil {
		t.Errorf("after one frame: %+v, %v", got, err)
	}
	if _, err := k.LinkStats("vnet9"); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("counters of a link that is not there: %v, want ErrNoLink", err)
	}
}

func TestManyGoroutinesShareOneKernel(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				name := fmt.Sprintf("t%d-%d", g, i)
				tap, err := k.CreateTap(host.TapSpec{Name: name})
				if err != nil {
					t.Error(err)
					return
				}
				if l, err := k.LinkByName(name); err != nil || l.Index != tap.Index {
					t.Errorf("%s: index %d, want %d, %v", name, l.Index, tap.Index, err)
				}
				removeTap(t, k, tap)
			}
		})
	}
	wg.Wait()
}

// removeTap removes a tap's link and its descriptors; by the descriptors alone it could outlive the test by a moment.
func removeTap(t *testing.T, k *host.Kernel, tap *host.Tap) {
	if err := errors.Join(k.DeleteLink(tap.Index), tap.Close()); err != nil {
		t.Error(err)
	}
}

// linkEvents listens from now on and returns a function that waits for an event about a link.
func linkEvents(t *testing.T, ns *hosttest.NS) func(kind uint16, index int) {
	t.Helper()
	var s *nl.NetlinkSocket
	var err error
	ns.Do(func() { s, err = nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK) })
	must(t, err)
	t.Cleanup(s.Close)
	must(t, s.SetReceiveTimeout(&unix.Timeval{Sec: 30}))
	return func(kind uint16, index int) {
		for {
			msgs, _, err := s.Receive()
			must(t, err)
			for _, m := range msgs {
				if m.Header.Type == kind && nl.DeserializeIfInfomsg(m.Data).Index == int32(index) {
					return
				}
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
