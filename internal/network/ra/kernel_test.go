package ra_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/packet"
	"taproom/internal/network/packet/packettest"
	"taproom/internal/network/ra"
)

// The guest is a kernel that configures itself from what it hears.
var (
	bridgeMAC = packet.MAC{0x52, 0x54, 0, 0, 0, 0xfe}
	guestMAC  = packet.MAC{0x52, 0x54, 0, 0, 0, 1}
)

const guestName = "guest"

// listening returns a port to a kernel that believes in advertisements and tests no address for duplicates.
func listening(t *testing.T) (*packettest.Port, *hosttest.NS) {
	t.Helper()
	host, guest := hosttest.NewNS(t), hosttest.NewNS(t)
	hosttest.Veth(host, "net", guest, guestName)
	host.Run("ip", "link", "set", "dev", "net", "address", bridgeMAC.String())
	guest.Shell(`cd /proc/sys/net/ipv6/conf/guest
		ip link set dev guest down address ` + guestMAC.String() + `
		echo 0 >dad_transmits; echo 1 >accept_ra; echo 1 >autoconf; echo 0 >router_solicitation_delay
		echo 0 >use_tempaddr; echo 0 >addr_gen_mode`)
	return packettest.Open(t, host, "net"), guest
}

// view is what the kernel has made of it.
func view(ns *hosttest.NS) string {
	return ns.Shell(`ip -6 -o addr show dev guest scope global | awk '{print "address", $4, $0 ~ /deprecated/ ? "deprecated" : "preferred"}' | sort
		ip -6 route show default | awk '{print "default via", $3, $0 ~ /pref high/ ? "preferred" : ""}'
		ip -6 route show dev guest proto kernel | awk '/^fd/ {print "link", $1}' | sort
		echo MTU $(cat /proc/sys/net/ipv6/conf/guest/mtu)`)
}

// become waits until the kernel has done what it was told.
func become(t *testing.T, ns *hosttest.NS, want string) {
	t.Helper()
	want = strings.TrimSpace(strings.ReplaceAll(want, "\t", ""))
	var got string
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		got = strings.ReplaceAll(strings.TrimSpace(view(ns)), " \n", "\n")
		if got == want {
			return
		}
	}
	t.Fatalf("the kernel has\n%s\nwant\n%s", got, want)
}

// TestTheKernelConfiguresItselfByOurAdvertisements goes through a network's life: its guest asks and is answered, the
// network is renumbered, and stops.
func TestTheKernelConfiguresItselfByOurAdvertisements(t *testing.T) {
	t.Parallel()
	port, guest := listening(t)
	source := bridgeMAC.LinkLocal()
	c := ra.Config{
		Prefixes:      []ra.Prefix{{Prefix: netip.MustParsePrefix("fd07::/64"), OnLink: true, Autonomous: true}},
		RouterSeconds: 1800, Preference: ra.High, MTU: 1400, RDNSS: []netip.Addr{source}, Search: []string{"lab.example"},
	}
	r := ra.NewRouter(c, 0, func(int64) int64 { return 0 })

	guest.Run("ip", "link", "set", "dev", guestName, "up")
	var asked *ra.Solicitation
	port.Await(func(f []byte) bool {
		s, err := ra.ParseSolicitation(f, false)
		asked = s
		return err == nil && !s.Src.IsUnspecified()
	})
	if want := (ra.Solicitation{From: guestMAC, Src: guestMAC.LinkLocal()}); *asked != want {
		t.Fatalf("the kernel asks as %+v, want %+v", *asked, want)
	}
	port.Send(r.Answer(asked, bridgeMAC, source, 0))
	become(t, guest, `
		address fd07::5054:ff:fe00:1/64 preferred
		default via fe80::5054:ff:fe00:fe preferred
		link fd07::/64
		MTU 1400`)

	c.Prefixes = []ra.Prefix{{Prefix: netip.MustParsePrefix("fd08::/64"), OnLink: true, Autonomous: true}}
	c.Preference = ra.Medium
	r.Change(c, 10)
	port.Send(r.Advertise(bridgeMAC, source, 10))
	become(t, guest, `
		address fd07::5054:ff:fe00:1/64 deprecated
		address fd08::5054:ff:fe00:1/64 preferred
		default via fe80::5054:ff:fe00:fe
		link fd08::/64
		MTU 1400`)

	port.Send(r.Stop(bridgeMAC, source, 20))
	become(t, guest, `
		address fd07::5054:ff:fe00:1/64 deprecated
		address fd08::5054:ff:fe00:1/64 deprecated
		link fd08::/64
		MTU 1400`)
}
