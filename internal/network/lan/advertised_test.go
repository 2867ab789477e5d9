package lan_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/lan"
)

// advertise has the router say that it is one, and what the prefix of the LAN is, for so many seconds.
func advertise(t *testing.T, router *hosttest.NS, seconds uint32) {
	t.Helper()
	ra := make([]byte, 16, 48)
	ra[0], ra[4] = 134, 64 // router advertisement (RFC 4861); hop limit
	binary.BigEndian.PutUint16(ra[6:], uint16(seconds))
	prefix := make([]byte, 32)
	prefix[0], prefix[1], prefix[2], prefix[3] = 3, 4, 64, 0xc0 // prefix information: on the link, addresses of one's own
	binary.BigEndian.PutUint32(prefix[4:], seconds)
	binary.BigEndian.PutUint32(prefix[8:], seconds)
	copy(prefix[16:], netip.MustParseAddr("2001:db8:77::").AsSlice())
	var err error
	router.Do(func() {
		var fd int
		if fd, err = unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6); err != nil {
			return
		}
		defer unix.Close(fd)
		if err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 255); err != nil {
			return
		}
		if err = unix.BindToDevice(fd, "lan"); err != nil {
			return
		}
		all := &unix.SockaddrInet6{Addr: netip.MustParseAddr("ff02::1").As16()}
		err = unix.Sendto(fd, append(ra, prefix...), 0, all)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatARouterAdvertisesMovesAndTheBridgeGoesOnHearingIt has a NIC with an address and a default route that a router told it,
// both of which run out.
func TestWhatARouterAdvertisesMovesAndTheBridgeGoesOnHearingIt(t *testing.T) {
	t.Parallel()
	here, router := routed(t)
	k := here.Kernel()
	here.Shell("ip -6 route del default; echo 2 > /proc/sys/net/ipv6/conf/eth0/accept_ra")
	told := func(link string, seconds int) {
		t.Helper()
		advertise(t, router, uint32(seconds))
		here.Run("timeout", "60", "sh", "-e", "-c", fmt.Sprintf(`until ip -6 route show default dev %s | grep -q 'proto ra.* expires %d[0-9][0-9][0-9]sec' && ip -6 address show dev %[1]s | grep -q 2001:db8:77:; do sleep 0.01; done`, link, seconds/1000-1))
	}
	addresses := func(link string) string {
		return here.Shell("ip -o -6 address show dev " + link + " scope global | grep -o 'inet6 [^ ]*' | sort")
	}
	// An address that would stay when its router says so no more is one that nobody takes back.
	ends := func(link string, from, to int) {
		t.Helper()
		out := here.Shell("ip -o -6 address show dev " + link + " to 2001:db8:77::/64")
		var valid, preferred int
		_, left, _ := strings.Cut(out, "valid_lft")
		if _, err := fmt.Sscanf(left, " %dsec preferred_lft %dsec", &valid, &preferred); err != nil || valid <= from || valid > to || preferred <= from || preferred > to {
			t.Errorf("it has %s: valid for %d s, want more than %d and no more than %d", out, valid, from, to)
		}
	}
	told("eth0", 2000)
	is := lan.Current(look(t, k), "br0")
	before := addresses("eth0")
	move(t.Context(), t, k, is.WithBridge())
	if got := addresses("br0"); got != before {
		t.Errorf("the bridge has\n%swant\n%s", got, before)
	}
	if got := here.Shell("ip -6 route show default"); !strings.Contains(got, "dev br0 proto ra") || !strings.Contains(got, "expires 1") {
		t.Errorf("the default route is\n%s", got)
	}
	ends("br0", 0, 2000)
	told("br0", 21000)
	ends("br0", 2000, 21000)
	move(t.Context(), t, k, is)
	if got := addresses("eth0"); got != before {
		t.Errorf("back on the NIC there is\n%swant\n%s", got, before)
	}
	ends("eth0", 2000, 21000)
	told("eth0", 42000)
	ends("eth0", 21000, 42000)
}
