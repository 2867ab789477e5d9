package nic

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
)

func TestLeaseBecomesAnAddressAndADefaultRoute(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("d0")
	ns.Run("ip", "link", "add", "d0", "type", "bridge")
	first, second := netip.MustParsePrefix("192.168.151.7/24"), netip.MustParsePrefix("192.168.151.9/24")
	ns.Do(func() {
		link, err := net.InterfaceByName("d0")
		if err != nil {
			t.Error(err)
			return
		}
		for i, err := range []error{
			Up(link.Index, 1400),
			SetAddress(link.Index, first), SetAddress(link.Index, first), // a renewal changes nothing
			RemoveAddress(link.Index, first), SetAddress(link.Index, second),
			SetDefault(link.Index, netip.MustParseAddr("192.168.151.1")),
			SetDefault(link.Index, netip.MustParseAddr("192.168.151.1")),
		} {
			if err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
		if err := RemoveAddress(link.Index, first); !errors.Is(err, unix.EADDRNOTAVAIL) {
			t.Errorf("removing what is not there: %v, want EADDRNOTAVAIL", err)
		}
		if err := Up(9999, 0); !errors.Is(err, unix.ENODEV) {
			t.Errorf("a link that is not there: %v, want ENODEV", err)
		}
	})
	routes := strings.Fields(ns.Run("ip", "-4", "route", "show", "default"))
	if diff := cmp.Diff([]string{"default", "via", "192.168.151.1", "dev", "d0"}, routes[:min(5, len(routes))]); diff != "" {
		t.Errorf("default route (-want +got):\n%s", diff)
	}
	addr := ns.Run("ip", "-4", "-o", "addr", "show", "dev", "d0")
	if !strings.Contains(addr, "192.168.151.9/24 brd 192.168.151.255") || strings.Contains(addr, "192.168.151.7") {
		t.Errorf("addresses: %s", addr)
	}
	if link := ns.Run("ip", "link", "show", "d0"); !strings.Contains(link, "mtu 1400") || !strings.Contains(link, "UP") {
		t.Errorf("link: %s", link)
	}
	ns.Run("ip", "link", "del", "d0")
}

func TestPacketSocketHearsOnlyItsLinkAndEndsInTime(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Run("ip", "link", "set", "lo", "up")
	ns.Do(func() {
		p, err := openPacket(1)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Close()
		if err := p.Send([]byte("to a server")); err != nil {
			t.Error(err)
		}
		got, err := p.Receive(time.Now().Add(5 * time.Second)) // lo brings it back; it is no answer
		if err != nil || got != nil {
			t.Errorf("our own question: %q, %v, want nothing", got, err)
		}
		if _, err := p.Receive(time.Now().Add(time.Millisecond)); !os.IsTimeout(err) {
			t.Errorf("silence: %v, want a timeout", err)
		}
		if _, err := openPacket(9999); err == nil {
			t.Error("a packet socket was bound to a link that is not there")
		}
	})
}

func TestAnswerThatIsNoVerdictIsAnError(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, make([]byte, 10), make([]byte, 40)} {
		if err := verdict(b); err == nil {
			t.Errorf("% x was taken for success", b)
		}
	}
}

func TestNetlinkMessageIsPaddedAndCountsItself(t *testing.T) {
	t.Parallel()
	b := message(16, 0x400, []byte{1, 2, 3, 4}, []attr{{3, []byte("abcde")}, {4, []byte{9}}})
	if got, want := int(binary.NativeEndian.Uint32(b)), 16+4+12+8; got != want || len(b) != want {
		t.Errorf("the message says %d and has %d bytes, want %d", got, len(b), want)
	}
	if size := binary.NativeEndian.Uint16(b[20:]); size != 9 {
		t.Errorf("the first attribute says %d bytes, want 9 without its padding", size)
	}
}
