package helper_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"golang.org/x/sys/unix"

	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
)

// gateway4 is the server of dual.
var gateway4 = netip.MustParseAddr("10.9.0.1")

// wide is dual with addresses for many and leases shorter than an hour.
func wide() helper.Network {
	n := dual()
	n.DHCP4.Ranges[0].End = netip.MustParseAddr("10.9.0.250")
	n.DHCP4.LeaseSeconds, n.DHCP6.LeaseSeconds, n.DHCP6.Ranges[0].LeaseSeconds = 1800, 1800, 1800
	return n
}

// told is what clients believe: an address each, of a family.
type told map[netip.Addr]packet.MAC

// hears notes that a client was given an address, which nobody else may believe to have.
func (b told) hears(t *testing.T, a netip.Addr, mac packet.MAC) {
	t.Helper()
	if other, ok := b[a]; ok && other != mac {
		t.Fatalf("%s was given to %s, which has it, and to %s", a, other, mac)
	}
	b[a] = mac
}

// want compares it with what a helper knows, that may know more: what it stored before its client could hear of it.
func (b told) want(s *site, when string) {
	s.t.Helper()
	all, err := s.h.Leases(s.ctx, dual().UUID)
	if errors.Is(err, helper.ErrLost) {
		return // it ends early
	}
	if err != nil {
		s.t.Fatal(err)
	}
	known := told{}
	for _, l := range all {
		known.hears(s.t, l.IP, l.MAC)
	}
	for a, mac := range b {
		if known[a] != mac {
			s.t.Errorf("%s: %s has %s and the helper says it is %s's", when, mac, a, known[a])
		}
	}
}

// live has a client do all that clients do, until the helper ends, and returns false then.
func (b told) live(s *site, c card, before packet.MAC) bool {
	duid := dual().DHCP6.DUID
	for a, mac := range b { // who was told is known
		if mac != before || !a.Is4() {
			continue
		}
		again := (card{c.w, mac}).renew4(a)
		if !again.IsValid() {
			return false
		}
		if again != a {
			s.t.Fatalf("%s renews %s and was given %s", mac, a, again)
		}
	}
	four := c.join4(gateway4)
	if !four.IsValid() {
		return false
	}
	b.hears(s.t, four, c.mac)
	six := c.join6(duid)
	if !six.IsValid() {
		return false
	}
	b.hears(s.t, six, c.mac)
	if got := c.renew4(four); got.IsValid() && got != four || !got.IsValid() && !c.w.lost() {
		s.t.Fatalf("%s renews %s and got %s", c.mac, four, got)
	}
	if got := c.renew6(duid, six); got.IsValid() && got != six || !got.IsValid() && !c.w.lost() {
		s.t.Fatalf("%s renews %s and got %s", c.mac, six, got)
	}
	if err := s.h.Compact(s.ctx, dual().UUID); err != nil {
		if !errors.Is(err, helper.ErrLost) {
			s.t.Fatal(err)
		}
		return false
	}
	delete(b, six) // from here on nobody relies on it
	if r := c.ask6(dhcpv6.MessageTypeRelease, duid, ia(six)); r == nil {
		return false
	}
	if c.mac[5]%2 == 0 {
		delete(b, four)
		c.tell4(dhcpv4.MessageTypeRelease, has(four), server(gateway4))
	}
	return (card{c.w, number(1 << 20)}).join4(gateway4).IsValid() // comes behind it
}

func TestAHelperKilledAtAnyWriteLosesNoLeaseAndGivesNoneTwice(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, vnetRun{})
	n := wide()
	index := s.serveDual(n)
	w := s.guest(n.Bridge, "52:54:00:09:00:05").wire()
	b := told{}
	var before packet.MAC
	for at := 1; ; at++ {
		s.reopen(vnetRun{EndAt: at})
		err := s.h.Set(s.ctx, n, index)
		if err != nil && !errors.Is(err, helper.ErrLost) { // it may have ended by then
			t.Fatalf("a helper that ends at step %d: %v", at, err)
		}
		if err == nil {
			b.want(s, fmt.Sprintf("before a helper that ends at step %d", at))
		}
		c := card{w, number(at)}
		if b.live(s, c, before) {
			if at < 15 {
				t.Errorf("a helper that does all took %d steps", at)
			}
			break
		}
		before = c.mac
	}
	s.reopen(vnetRun{})
	s.set(n, index)
	b.want(s, "at the end")
	for a, mac := range b {
		if a.Is4() && (card{w, mac}).renew4(a) != a {
			t.Errorf("at the end %s cannot renew %s", mac, a)
		}
	}
	files, err := filepath.Glob(filepath.Join(s.o.LeaseDir, "*"))
	if err != nil || len(files) > 2 { // one that a compaction left is replaced by the next
		t.Errorf("lease files %v, %v", files, err)
	}
}

func TestACalendarThatJumpsAnHourEndsNoLease(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shift")
	jump := func(seconds int) {
		t.Helper()
		if err := os.WriteFile(file+".new", fmt.Append(nil, seconds), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	jump(0)
	s := newSiteWith(t, vnetRun{Shift: file})
	n := wide()
	index := s.serveDual(n)
	w := s.guest(n.Bridge, "52:54:00:09:00:06").wire()
	b := told{}
	give := func() {
		c := card{w, number(len(b) + 1)}
		b.hears(t, c.join4(gateway4), c.mac)
		b.hears(t, c.join6(n.DHCP6.DUID), c.mac)
	}
	life := func() (most int64) { // of any lease, by its own calendar
		all, err := s.h.Leases(s.ctx, n.UUID)
		if err != nil || len(all) != len(b) {
			t.Fatalf("%d leases, want %d: %v", len(all), len(b), err)
		}
		for _, l := range all {
			most = max(most, l.Expiry)
		}
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			t.Fatal(err)
		}
		return most - now.Sec - shift(file)
	}
	give()
	for _, seconds := range []int{3600, -3600, 86400, 0} {
		jump(seconds)
		if l := life(); l < 1700 || l > 1801 {
			t.Errorf("after a jump to %d s off, a lease lasts %d s", seconds, l)
		}
		give()
		s.reopen(vnetRun{Shift: file})
		s.set(n, index)
		b.want(s, fmt.Sprintf("a helper that starts %d s off", seconds))
		if l := life(); l < 1700 || l > 1801 {
			t.Errorf("after a start at %d s off, a lease lasts %d s", seconds, l)
		}
		give()
	}
	for a, mac := range b {
		c := card{w, mac}
		var got netip.Addr
		if a.Is4() {
			got = c.renew4(a)
		} else {
			got = c.renew6(n.DHCP6.DUID, a)
		}
		if got != a {
			t.Errorf("%s renews %s and was given %s", mac, a, got)
		}
	}
}

func TestAFaultCostsOneMessageAndNobodyElseAnything(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, vnetRun{FaultAt: 5})
	n := wide()
	s.serveDual(n)
	s.serve(seven())
	w := s.guest(n.Bridge, "52:54:00:09:00:07").wire()
	quiet := s.guest("virbr7", "52:54:00:00:00:01").wire()
	b := told{}
	first := card{w, number(1)}
	b.hears(t, first.join4(gateway4), first.mac)
	b.hears(t, first.join6(n.DHCP6.DUID), first.mac)
	pid := s.h.Hello().PID
	w.send(discoverFrame(t, number(2))) // the fifth
	second := card{w, number(3)}
	b.hears(t, second.join4(gateway4), second.mac)
	b.want(s, "after the fault")
	if got := (card{quiet, number(9)}).join4(netip.MustParseAddr("10.7.0.1")); got != netip.MustParseAddr("10.7.0.10") {
		t.Errorf("the other network gave %s", got)
	}
	st, err := s.h.Stats(s.ctx, n.UUID)
	if err != nil || st.Faults != 1 || st.Leases != len(b) || s.h.Hello().PID != pid {
		t.Errorf("counted %+v, %v", st, err)
	}
	if st, err := s.h.Stats(s.ctx, seven().UUID); err != nil || st.Faults != 0 {
		t.Errorf("the other network counted %+v, %v", st, err)
	}
	var failed []helper.Event
	for len(s.h.Events()) > 0 {
		if e := <-s.h.Events(); e.Change == nil {
			failed = append(failed, e)
		}
	}
	if !slices.ContainsFunc(failed, func(e helper.Event) bool { return e.Network == n.UUID && e.Failed != "" }) || len(failed) != 1 {
		t.Errorf("the daemon was told %+v", failed)
	}
}
