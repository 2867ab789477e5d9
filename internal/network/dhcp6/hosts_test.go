package dhcp6

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/lease"
)

func TestFixedHostsGetTheirAddressByDUIDOrMACOrName(t *testing.T) {
	t.Parallel()
	c := small()
	c.Hosts = []Host{
		{MAC: "52:54:00:00:00:01", Name: "alpha", IP: ip("::101"), LeaseSeconds: 600},
		{DUID: "0:3:0:1:52:54:0:0:0:2", MAC: "52:54:00:00:00:09", IP: ip("::10")},
		{Name: "gamma.example.test", IP: ip("::103")},
		{MAC: "52:54:00:00:00:04", Name: "delta"},
	}
	l := newLab(t, c)
	l.join(1, "::11")
	l.join(2, "")
	l.join(3, "", fqdn("Gamma.other.test"))
	l.join(4, "::11")
	l.join(5, "::10", fqdn("epsilon")) // is another's
	l.want(`
		1 SOLICIT: ADVERTISE first choice true ia1[::101 600/600 T 300/480]
		1 REQUEST: REPLY ia1[::101 600/600 T 300/480]; add ::101 of 1
		2 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880]
		2 REQUEST: REPLY ia1[::10 3600/3600 T 1800/2880]; add ::10 of 2
		3 SOLICIT: ADVERTISE first choice true ia1[::103 3600/3600 T 1800/2880]
		3 REQUEST: REPLY ia1[::103 3600/3600 T 1800/2880]; add ::103 of 3
		4 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]
		4 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 4
		5 SOLICIT: ADVERTISE first choice true ia1[::12 3600/3600 T 1800/2880]
		5 REQUEST: REPLY ia1[::12 3600/3600 T 1800/2880]; add ::12 of 5`)
	l.wantLeases(`
		::10 of 2/1 "" until 4600
		::11 of 4/1 "delta" until 4600
		::12 of 5/1 "epsilon" until 4600
		::101 of 1/1 "alpha" until 1600
		::103 of 3/1 "gamma.example.test" until 4600`)
}

func TestAFixedAddressGoesWithTheCardFromItsFirmwareToItsSystem(t *testing.T) {
	t.Parallel()
	c := small()
	c.Hosts = []Host{{MAC: nic(1).String(), IP: ip("::101")}}
	l := newLab(t, c)
	firmware, system := duid(0, 2, 0, 0, 0, 9, 1), duid(0, 2, 0, 0, 0, 9, 2)
	l.send(1, request, ias(1), firmware)
	l.send(1, request, ias(1), ias(2, "::10"), system)        // one fixed address, two associations
	l.send(1, request, ias(3), system)                        // the system's next DHCP client
	l.send(1, renew, ias(2, "::10"), ias(3, "::101"), system) // one does not take it from the other
	l.send(1, renew, ias(1, "::101"), firmware)
	l.want(`
		1 REQUEST: REPLY ia1[::101 3600/3600 T 1800/2880]; add ::101 of 1
		1 REQUEST: REPLY ia1[::101 3600/3600 T 1800/2880] ia2[::10 3600/3600 T 1800/2880]; del ::101 of 1; add ::101 of 1; add ::10 of 1
		1 REQUEST: REPLY ia3[::101 3600/3600 T 1800/2880]; del ::101 of 1; add ::101 of 1
		1 RENEW: REPLY ia2[::10 3600/3600 T 1800/2880] ia3[::101 3600/3600 T 1800/2880]; old ::10 of 1; old ::101 of 1
		1 RENEW: REPLY ia1[::101 3600/3600 T 1800/2880]; del ::101 of 1; add ::101 of 1`)
}

func TestADUIDStandsInForACardThatNobodyHasHeardOf(t *testing.T) {
	t.Parallel()
	c := small()
	c.Hosts = []Host{{MAC: nic(1).String(), IP: ip("::101")}}
	l := newLab(t, c)
	first := duid(duidLL(1)...) // made from NIC 1, as that of a clone or of a second card is
	l.join(2, "::10", first)
	l.join(1, "::11") // NIC 1 itself, whose address is in use
	l.now += 1800
	l.send(2, renew, ias(1, "::101"), first)
	l.now += 3600
	l.send(1, renew, ias(1, "::11"))
	l.want(`
		2 SOLICIT: ADVERTISE first choice true ia1[::101 3600/3600 T 1800/2880]
		2 REQUEST: REPLY ia1[::101 3600/3600 T 1800/2880]; add ::101 of 2
		1 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 1
		2 RENEW: REPLY ia1[::12 3600/3600, ::101 0/1800 T 1800/2880]; add ::12 of 2
		1 RENEW: REPLY ia1[::101 3600/3600, ::11 0/0 T 1800/2880]; del ::11 of 1; del ::101 of 2; del ::12 of 2; add ::101 of 1`)
}

func TestACardIsNotStoodInForWhileItIsAway(t *testing.T) {
	t.Parallel()
	c := small()
	c.Hosts = []Host{{MAC: nic(1).String(), IP: ip("::101")}}
	l := newLab(t, c)
	l.join(1, "")
	l.now += 2 * DefaultLease
	l.s.Expire(l.now, l.now)
	l.out = nil
	l.send(2, solicit, ias(1, "::10"), duid(duidLL(1)...)) // a clone of the machine that is away
	l.send(1, renew, ias(1, "::101"))
	l.want(`
		2 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880]
		1 RENEW: REPLY ia1[::101 3600/3600 T 1800/2880]; add ::101 of 1`)
}

func TestAClientThatMovedIsRememberedOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.send(1, release, ias(1, "::10"))
	c := small()
	c.Hosts = []Host{{MAC: nic(1).String(), IP: ip("::101")}}
	l.restart(c)
	l.join(1, "")
	var got []string
	for _, x := range l.s.History() {
		got = append(got, short(x.IP))
	}
	if len(got) != 1 || got[0] != "::101" {
		t.Errorf("remembered are %v, want ::101 alone", got)
	}
}

func TestALeaseThatRunsGoesBeforeOneThatEnded(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	s, err := NewServer(small(), []lease.Lease{held(1, "::11", 2000), held(1, "::10", 900)}, l.now) // in either order
	if err != nil {
		t.Fatal(err)
	}
	l.s = s
	l.send(1, solicit, ias(1, "::10"))
	l.send(1, renew, ias(1, "::11"))
	l.want(`
		1 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]
		1 RENEW: REPLY ia1[::11 3600/3600 T 1800/2880]; old ::11 of 1`)
}

func TestAnAddressThatIsNoLongerAllowedRunsOutBesideTheNewOne(t *testing.T) {
	t.Parallel()
	c := small()
	c.Ranges[0].End = ip("::20")
	l := newLab(t, c)
	l.join(1, "::20")
	l.join(2, "::19")
	l.out = nil
	c.Ranges[0] = Range{Start: ip("::30"), End: ip("::30")}
	l.restart(c)
	l.now += 1000
	l.send(1, renew, ias(1, "::20"))
	l.send(1, renew, ias(1, "::20", "::30"))
	l.restart(c)
	l.wantLeases(`
		::19 of 2/1 "" until 4600
		::20 of 1/1 "" until 4600
		::30 of 1/1 "" until 5600`)
	l.send(1, decline, ias(1, "::30"))
	l.send(1, release, ias(1, "::20"))
	l.want(`
		1 DECLINE: REPLY Success; del ::30 of 1
		1 RELEASE: REPLY Success; del ::20 of 1`)
	l.wantLeases(`::19 of 2/1 "" until 4600`)
}

func TestTimesOfAnAddressThatRunsOut(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.join(2, "::11")
	c := small()
	c.Ranges[0] = Range{Start: ip("::30"), End: ip("::30"), LeaseSeconds: 500}
	l.restart(c)
	l.now += 1000
	l.out = nil
	l.send(1, renew, ias(1, "::10"))
	l.now += 100
	l.send(1, rebind, ias(1, "::10", "::30"))
	l.send(2, renew, ias(1, "::11")) // there is no new one for it
	l.now += 2600
	l.send(1, renew, ias(1, "::10", "::30"))
	l.want(`
		1 RENEW: REPLY ia1[::30 500/500, ::10 0/2600 T 250/400]; add ::30 of 1
		1 REBIND: REPLY ia1[::30 500/500, ::10 0/2500 T 250/400]; old ::30 of 1
		2 RENEW: REPLY ia1[::11 0/2500 T 1250/2000]
		1 RENEW: REPLY ia1[::30 500/500, ::10 0/0 T 250/400]; del ::30 of 1; del ::10 of 1; del ::11 of 2; add ::30 of 1`)
	if got := l.s.Remembered(); got != 1 {
		t.Errorf("%d leases are remembered; the addresses of two will not be given again", got)
	}
}

func TestAFixedAddressSomebodyHoldsGoesToItsOwnerWhenItHasRunOut(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	c := small()
	c.Hosts = []Host{{DUID: duidText(duidLL(2)), IP: ip("::10")}}
	l.restart(c)
	l.out = nil
	l.join(2, "::11") // its own is in use
	l.now += 1800
	l.send(1, renew, ias(1, "::10")) // the holder moves to another
	l.send(2, renew, ias(1, "::11"))
	l.now += 1801
	l.send(2, renew, ias(1, "::11"))
	l.want(`
		2 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]
		2 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 2
		1 RENEW: REPLY ia1[::12 3600/3600, ::10 0/1800 T 1800/2880]; add ::12 of 1
		2 RENEW: REPLY ia1[::11 3600/3600 T 1800/2880]; old ::11 of 2
		2 RENEW: REPLY ia1[::10 3600/3600, ::11 0/1799 T 1800/2880]; del ::10 of 1; add ::10 of 2`)
}

func TestServersAndReservedAddressesAreNotGivenAway(t *testing.T) {
	t.Parallel()
	c := small()
	c.Ranges = []Range{{Start: ip("::"), End: ip("::3")}, {Start: ip("2001:db8:7:0:fdff:ffff:ffff:ff7f"), End: ip("2001:db8:7:0:fdff:ffff:ffff:ffff")}}
	c.Exclude, c.NTP = append(c.Exclude, ip("::2")), append(c.NTP, ip("::3"))
	l := newLab(t, c) // ::1 is the DNS server, ::0 the routers
	for n, wish := range []string{"::", "::1", "::2", "::3", "2001:db8:7:0:fdff:ffff:ffff:ff80"} {
		l.send(byte(n), solicit, ias(1, wish))
	}
	want := "2001:db8:7:0:fdff:ffff:ffff:ff7f"
	if got := l.join(9, ""); got != want {
		t.Errorf("got %s, and %s is the only address for clients:\n%v", got, want, l.out)
	}
	l.out = nil
	l.send(8, solicit, ias(1))
	l.want(`8 SOLICIT: ADVERTISE first choice true ia1[NoAddrsAvail]`)
}

func TestAllSubnetsOfALinkAreServed(t *testing.T) {
	t.Parallel()
	c := small()
	c.Prefixes = append(c.Prefixes, netip.MustParsePrefix("2001:db8:8::/48"))
	c.Ranges = append(c.Ranges, Range{Start: ip("2001:db8:8::10"), End: ip("2001:db8:8::10")})
	c.Hosts = []Host{{MAC: nic(3).String(), IP: ip("2001:db8:8:ffff::3")}}
	l := newLab(t, c)
	l.join(1, "2001:db8:8::10")
	l.join(3, "")
	l.send(2, confirm, ias(1, "2001:db8:8:1::1", "::99"))
	l.send(2, request, ias(1, "2001:db8:8::10"), ias(2, "2001:db8:9::10"))
	l.want(`
		1 SOLICIT: ADVERTISE first choice true ia1[2001:db8:8::10 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[2001:db8:8::10 3600/3600 T 1800/2880]; add 2001:db8:8::10 of 1
		3 SOLICIT: ADVERTISE first choice true ia1[2001:db8:8:ffff::3 3600/3600 T 1800/2880]
		3 REQUEST: REPLY ia1[2001:db8:8:ffff::3 3600/3600 T 1800/2880]; add 2001:db8:8:ffff::3 of 3
		2 CONFIRM: REPLY Success
		2 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880] ia2[NotOnLink]; add ::11 of 2`)
}

func TestOverlappingRangesAreOnePool(t *testing.T) {
	t.Parallel()
	c := small()
	c.Ranges = append(c.Ranges, Range{Start: ip("::12"), End: ip("::13"), LeaseSeconds: 60})
	l := newLab(t, c)
	got := map[string]bool{}
	for n := range byte(5) {
		got[l.join(n, "")] = true
	}
	want := map[string]bool{ip("::10").String(): true, ip("::11").String(): true, ip("::12").String(): true, ip("::13").String(): true, "": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("five clients got (-want +got):\n%s", diff)
	}
}

func TestRangesHaveTheirOwnTimesAndAreFilledInOrder(t *testing.T) {
	t.Parallel()
	c := small()
	c.Ranges = []Range{
		{Start: ip("::10"), End: ip("::10"), LeaseSeconds: 120}, {Start: ip("::20"), End: ip("::20"), LeaseSeconds: Forever}, {Start: ip("::30"), End: ip("::30")},
	}
	c.LeaseSeconds = 300
	l := newLab(t, c)
	for n := range byte(3) {
		l.join(n, "")
	}
	l.want(`
		0 SOLICIT: ADVERTISE first choice true ia1[::10 120/120 T 60/96]
		0 REQUEST: REPLY ia1[::10 120/120 T 60/96]; add ::10 of 0
		1 SOLICIT: ADVERTISE first choice true ia1[::20 4.294967295e+09/4.294967295e+09 T 4.294967295e+09/4.294967295e+09]
		1 REQUEST: REPLY ia1[::20 4.294967295e+09/4.294967295e+09 T 4.294967295e+09/4.294967295e+09]; add ::20 of 1
		2 SOLICIT: ADVERTISE first choice true ia1[::30 300/300 T 150/240]
		2 REQUEST: REPLY ia1[::30 300/300 T 150/240]; add ::30 of 2`)
	l.now += 1 << 40
	if got := l.s.Leases(l.now); len(got) != 1 || got[0].Ends != lease.Never {
		t.Errorf("after ages there are %v", got)
	}
}
