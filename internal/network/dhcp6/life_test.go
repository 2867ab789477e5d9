package dhcp6

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/lease"
)

func addresses() cmp.Option { return cmp.Comparer(func(a, b netip.Addr) bool { return a == b }) }

// held is a lease of client n's IA 1.
func held(n byte, a string, end int64) lease.Lease {
	return lease.Lease{IP: ip(a), MAC: nic(n), ClientID: duidText(duidLL(n)), IAID: 1, Ends: end}
}

func TestLeasesEndOnTimeAndAreReportedOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.now += 100
	l.join(2, "::11")
	type due struct {
		Next int64
		Gone []lease.Change
	}
	var got []due
	for _, now := range []int64{4599, 4600, 4700, 4800} {
		gone := l.s.Expire(now-100, now)
		got = append(got, due{l.s.NextExpiry(), gone})
	}
	want := []due{
		{4600, nil},
		{4700, []lease.Change{{Kind: lease.Deleted, Lease: held(1, "::10", 4600)}}},
		{0, []lease.Change{{Kind: lease.Deleted, Lease: held(2, "::11", 4700)}}},
		{0, nil},
	}
	if diff := cmp.Diff(want, got, addresses()); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
}

func TestANewServerReportsWhatEndedSinceAnotherLooked(t *testing.T) {
	t.Parallel()
	leases := []lease.Lease{held(1, "::10", 900), held(2, "::11", 950), held(3, "::12", 1100), held(4, "::99", 940), {IP: netip.MustParseAddr("10.0.0.1")}}
	s, err := NewServer(small(), leases, 1000)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]lease.Change{s.Expire(930, 1000), s.Expire(930, 1000), s.Expire(1000, 1100)}
	want := [][]lease.Change{
		{{Kind: lease.Deleted, Lease: held(2, "::11", 950)}, {Kind: lease.Deleted, Lease: held(4, "::99", 940)}},
		nil,
		{{Kind: lease.Deleted, Lease: held(3, "::12", 1100)}},
	}
	if diff := cmp.Diff(want, got, addresses()); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
	// ::99 is in no range, so nobody will get it again.
	if diff := cmp.Diff([]lease.Lease{held(1, "::10", 900), held(2, "::11", 950), held(3, "::12", 1100)}, s.History(), addresses()); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
}

func TestALeaseLastsAsItWasPromisedWhateverTheConfigurationSaysNow(t *testing.T) {
	t.Parallel()
	c := small()
	c.LeaseSeconds = 60
	leases := []lease.Lease{held(1, "::10", 8200), held(3, "::12", lease.Never), held(5, "::98", 1001)}
	s, err := NewServer(c, leases, 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := []lease.Lease{held(1, "::10", 8200), held(3, "::12", lease.Never), held(5, "::98", 1001)}
	if diff := cmp.Diff(want, s.Leases(1000), addresses()); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
}

func TestReplacingTheConfigurationKeepsLongerLeasesAndRest(t *testing.T) {
	t.Parallel()
	c := small()
	c.LeaseSeconds = 86400
	l := newLab(t, c)
	l.join(1, "::10")
	l.join(2, "::11")
	l.send(2, decline, ias(1, "::11"))
	old := l.s
	next, err := NewServer(small(), old.History(), l.now)
	if err != nil {
		t.Fatal(err)
	}
	next.Inherit(old)
	l.s, l.out = next, nil
	l.join(3, "::11") // rests
	l.now += 4000     // longer than a lease of the new server
	l.join(4, "::10") // still is another's
	l.send(1, renew, ias(1, "::10"))
	l.want(`
		3 SOLICIT: ADVERTISE first choice true ia1[::12 3600/3600 T 1800/2880]
		3 REQUEST: REPLY ia1[::12 3600/3600 T 1800/2880]; add ::12 of 3
		4 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]; del ::12 of 3
		4 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 4
		1 RENEW: REPLY ia1[::10 3600/3600 T 1800/2880]; old ::10 of 1`)
}

func TestWhatIsRememberedIsBoundedAndFixedAddressesStayAvailable(t *testing.T) {
	t.Parallel()
	c := large()
	c.Hosts = []Host{{MAC: nic(1).String(), IP: ip("::101")}}
	leases := make([]lease.Lease, maxLeases+10)
	for i := range leases {
		leases[i] = lease.Lease{IP: c.Ranges[0].nth(uint64(1000 + i)), MAC: nic(9), IAID: uint32(i), Ends: 2000}
		if i < 20 {
			leases[i].Ends = int64(900 + i) // ended: ten of them have to go
		}
	}
	l := newLab(t, c)
	s, err := NewServer(c, leases, l.now)
	if err != nil {
		t.Fatal(err)
	}
	l.s = s
	remembered := []int{s.Remembered()}
	reused := l.join(2, "2001:db8:7:0:ff::1")
	remembered = append(remembered, s.Remembered())
	for n := range byte(9) {
		l.join(10+n, "")
	}
	l.out = nil
	l.join(30, "2001:db8:7:0:ff::2")
	l.send(30, renew, ias(1, "2001:db8:7:0:ff::2"))
	l.join(1, "")
	remembered = append(remembered, s.Remembered())
	l.want(`
		30 SOLICIT: ADVERTISE first choice true ia1[NoAddrsAvail]
		30 RENEW: REPLY ia1[NoBinding]
		1 SOLICIT: ADVERTISE first choice true ia1[::101 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[::101 3600/3600 T 1800/2880]; add ::101 of 1`)
	if diff := cmp.Diff([]int{maxLeases, maxLeases, maxLeases + 1}, remembered); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if want := c.Ranges[0].nth(1010).String(); reused != want {
		t.Errorf("reused %s, and %s has been free longest", reused, want)
	}
}

func TestAGuestThatDeclinesEverythingUsesUpNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{"a small range": small(), "a large range": large()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c)
			for range 2 * maxResting {
				a := l.join(1, "")
				l.send(1, decline, ias(1, a))
			}
			if got := len(l.s.pool.rest.order); got > maxResting+1 || len(l.s.pool.rest.until) > got || l.s.Remembered() != 0 {
				t.Errorf("%d addresses rest, %d leases are remembered", got, l.s.Remembered())
			}
			l.out = nil
			if got := l.join(2, ""); got == "" {
				t.Errorf("nothing is left for another:\n%v", l.out)
			}
		})
	}
}
