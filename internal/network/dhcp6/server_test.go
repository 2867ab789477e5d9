package dhcp6

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
)

func TestAClientGetsAnAddressRenewsAndReleasesIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.now += 1800
	l.send(1, renew, ias(1, "::10"))
	l.now += 1080
	l.send(1, rebind, ias(1, "::10"))
	l.send(1, confirm, ias(1, "::10"))
	l.want(`
		1 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[::10 3600/3600 T 1800/2880]; add ::10 of 1
		1 RENEW: REPLY ia1[::10 3600/3600 T 1800/2880]; old ::10 of 1
		1 REBIND: REPLY ia1[::10 3600/3600 T 1800/2880]; old ::10 of 1
		1 CONFIRM: REPLY Success`)
	l.wantLeases(`::10 of 1/1 "" until 7480`)
	l.send(2, release, ias(1, "::10"))
	l.send(1, release, ias(1, "::10"), ias(2))
	l.send(1, release, ias(1, "::10"))
	l.want(`
		2 RELEASE: REPLY Success ia1[NoBinding]
		1 RELEASE: REPLY Success ia2[NoBinding]; del ::10 of 1
		1 RELEASE: REPLY Success ia1[NoBinding]`)
	l.wantLeases(``)
}

func TestRapidCommitTakesTwoMessagesWhereItIsOnAndAskedFor(t *testing.T) {
	t.Parallel()
	rapid := raw(dhcpv6.OptionRapidCommit)
	c := small()
	l := newLab(t, c)
	l.send(1, solicit, rapid, ias(1, "::10"))
	c.Rapid = true
	l.restart(c)
	l.send(1, solicit, ias(1, "::10"))
	l.send(1, solicit, rapid, ias(1, "::10"))
	l.send(1, solicit, rapid, ias(1, "::10"))
	l.want(`
		1 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880]
		1 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880]
		1 SOLICIT: REPLY rapid ia1[::10 3600/3600 T 1800/2880]; add ::10 of 1
		1 SOLICIT: REPLY rapid ia1[::10 3600/3600 T 1800/2880]; old ::10 of 1`)
	l.join(2, "::12")
	l.join(3, "::11")
	l.out = nil
	l.send(4, solicit, rapid, ias(1))
	l.want(`4 SOLICIT: ADVERTISE first choice true ia1[NoAddrsAvail]`)
	l.wantLeases(`
		::10 of 1/1 "" until 4600
		::11 of 3/1 "" until 4600
		::12 of 2/1 "" until 4600`)
}

func TestAnAdvertisedAddressIsNotKeptBackAndItsClientGetsAnother(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, solicit, ias(1, "::10"))
	l.join(2, "::10")
	l.send(1, request, ias(1, "::10"))
	l.out = l.out[3:]
	if got := l.s.Leases(l.now); len(got) != 2 || got[0].MAC != nic(2) || got[1].MAC != nic(1) {
		t.Errorf("after both asked, the leases are %v", got)
	}
}

func TestSeveralAssociationsAndKindsAreAnsweredEach(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	pd, ta := &dhcpv6.OptIAPD{IaId: [4]byte{3: 8}}, &dhcpv6.OptIATA{IaId: [4]byte{3: 9}}
	l.send(1, solicit, ias(1, "::10"), ias(2, "::10", "::11"), ias(1, "::12"), pd, ta)
	l.send(1, request, ias(1, "::10"), ias(2, "::11"), pd, ta)
	l.send(1, renew, ias(1, "::10"), ias(2, "::11"), pd, ta)
	l.send(1, rebind, ias(1, "::10"), ias(2, "::11"), pd, ta)
	held := &dhcpv6.OptIATA{IaId: [4]byte{3: 9}, Options: dhcpv6.IdentityOptions{Options: ias(1, "::12").(*dhcpv6.OptIANA).Options.Options}}
	delegated := &dhcpv6.OptIAPD{IaId: [4]byte{3: 8}}
	delegated.Options.Add(&dhcpv6.OptIAPrefix{Prefix: &net.IPNet{IP: net.IP(ip("2001:db8:8::").AsSlice()), Mask: net.CIDRMask(56, 128)}})
	l.send(1, rebind, held, delegated)
	l.send(1, release, ias(1, "::10", "::11"), pd, ta)
	l.send(2, solicit, pd)
	l.want(`
		1 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880] ia2[::11 3600/3600 T 1800/2880] pd8[NoPrefixAvail] ta9[NoAddrsAvail]
		1 REQUEST: REPLY ia1[::10 3600/3600 T 1800/2880] ia2[::11 3600/3600 T 1800/2880] pd8[NoPrefixAvail] ta9[NoAddrsAvail]; add ::10 of 1; add ::11 of 1
		1 RENEW: REPLY ia1[::10 3600/3600 T 1800/2880] ia2[::11 3600/3600 T 1800/2880] pd8[NoPrefixAvail] ta9[NoAddrsAvail]; old ::10 of 1; old ::11 of 1
		1 REBIND: REPLY ia1[::10 3600/3600 T 1800/2880] ia2[::11 3600/3600 T 1800/2880] pd8[NoPrefixAvail] ta9[NoAddrsAvail]; old ::10 of 1; old ::11 of 1
		1 REBIND: REPLY ta9[NoBinding] pd8[NoBinding]
		1 RELEASE: REPLY Success pd8[NoBinding] ta9[NoBinding]; del ::10 of 1
		2 SOLICIT: ADVERTISE first choice true pd8[NoPrefixAvail]`)
	l.wantLeases(`::11 of 1/2 "" until 4600`)
}

func TestAddressesOfOtherLinksAreSaidToBe(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.out = nil
	const foreign = "2001:db8:9::10"
	l.send(1, request, ias(1, foreign), ias(2, "::11"))
	l.send(1, confirm, ias(1, "::10", foreign))
	l.send(1, confirm, ias(1))
	l.send(1, confirm)
	l.send(1, renew, ias(1, "::10", foreign, "::12"))
	l.send(2, rebind, ias(1, foreign))
	l.send(2, renew, ias(1, foreign))
	l.send(2, solicit, ias(1, foreign, "::12"))
	l.want(`
		1 REQUEST: REPLY ia1[NotOnLink] ia2[::11 3600/3600 T 1800/2880]; add ::11 of 1
		1 CONFIRM: REPLY NotOnLink
		1 CONFIRM: (nothing to say)
		1 CONFIRM: (nothing to say)
		1 RENEW: REPLY ia1[::10 3600/3600, 2001:db8:9::10 0/0, ::12 0/0 T 1800/2880]; old ::10 of 1
		2 REBIND: REPLY ia1[2001:db8:9::10 0/0 T 0/0]
		2 RENEW: REPLY ia1[NoBinding]
		2 SOLICIT: ADVERTISE first choice true ia1[::12 3600/3600 T 1800/2880]`)
}

func TestAnUnknownClientKeepsAFreeAddressWhereTheServerIsAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.out = nil
	l.send(2, renew, ias(1, "::11"))
	l.send(3, rebind, ias(1, "::12"))
	l.send(4, renew, ias(1, "::10")) // another's
	l.send(4, rebind, ias(1, "::10"))
	l.send(4, rebind, ias(1, "::99")) // in no range
	l.send(4, renew, ias(1))
	l.send(4, rebind, ias(1))
	l.want(`
		2 RENEW: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 2
		3 REBIND: REPLY ia1[::12 3600/3600 T 1800/2880]; add ::12 of 3
		4 RENEW: REPLY ia1[NoBinding]
		4 REBIND: REPLY ia1[::10 0/0 T 0/0]
		4 REBIND: REPLY ia1[::99 0/0 T 0/0]
		4 RENEW: REPLY ia1[NoBinding]
		4 REBIND: REPLY ia1[NoBinding]`)
}

func TestAServerAmongOthersSpeaksOfItsOwnLeasesAlone(t *testing.T) {
	t.Parallel()
	c := small()
	c.Authoritative = false
	l := newLab(t, c)
	l.join(1, "::10")
	l.send(2, rebind, ias(1, "::11"))
	l.send(2, renew, ias(1, "::11"))
	l.send(2, confirm, ias(1, "2001:db8:9::1"))
	l.send(2, confirm, ias(1, "::11"))
	l.send(1, rebind, ias(1, "::10"), ias(2, "::11"))
	l.now += 2 * DefaultLease
	l.send(1, rebind, ias(1, "::10")) // it ended, but was this client's and is free
	l.want(`
		1 SOLICIT: ADVERTISE ia1[::10 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[::10 3600/3600 T 1800/2880]; add ::10 of 1
		2 REBIND: (nothing to say)
		2 RENEW: REPLY ia1[NoBinding]
		2 CONFIRM: (nothing to say)
		2 CONFIRM: REPLY Success
		1 REBIND: REPLY ia1[::10 3600/3600 T 1800/2880]; old ::10 of 1
		1 REBIND: REPLY ia1[::10 3600/3600 T 1800/2880]; del ::10 of 1; add ::10 of 1`)
}

func TestADeclinedAddressRestsAndOnlyItsHolderCanDecline(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, "::10")
	l.out = nil
	l.send(2, decline, ias(1, "::10"))
	l.send(1, decline, ias(1, "::10"))
	l.join(1, "::11")
	l.join(2, "::12")
	l.send(3, solicit, ias(1, "::11")) // nothing else is left, so the rest is cut short
	l.send(1, request, ias(1, "::10"))
	l.want(`
		2 DECLINE: REPLY Success ia1[NoBinding]
		1 DECLINE: REPLY Success; del ::10 of 1
		1 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 1
		2 SOLICIT: ADVERTISE first choice true ia1[::12 3600/3600 T 1800/2880]
		2 REQUEST: REPLY ia1[::12 3600/3600 T 1800/2880]; add ::12 of 2
		3 SOLICIT: ADVERTISE first choice true ia1[::10 3600/3600 T 1800/2880]
		1 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; old ::11 of 1`)
	next := l.s.NextExpiry()
	l.now += restSeconds
	l.s.Expire(l.now-1, l.now)
	l.send(3, request, ias(1, "::10"))
	l.want(`3 REQUEST: REPLY ia1[::10 3600/3600 T 1800/2880]; add ::10 of 3`)
	if next != 1000+restSeconds {
		t.Errorf("Expire was due at %d, when the address had not rested until %d", next, 1000+restSeconds)
	}
}

func TestClonesWithOneDUIDAndIAIDAreTwoClients(t *testing.T) {
	t.Parallel()
	l := newLab(t, large())
	same := duid(0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	a, b := l.join(1, "", same), l.join(2, "", same)
	if a == b || a == "" || b == "" {
		t.Fatalf("two NICs with one DUID got %q and %q", a, b)
	}
	l.now += 1800
	if c := offered(l.send(1, renew, ias(1, a), same)); c != a {
		t.Errorf("NIC 1 had %s and renewed %s", a, c)
	}
	l.out = nil
	l.send(3, release, ias(1, a), same)
	l.send(3, decline, ias(1, b), same)
	l.want(`
		3 RELEASE: REPLY Success ia1[NoBinding]
		3 DECLINE: REPLY Success ia1[NoBinding]`)
	if other := l.join(1, "", duid(0, 2, 0, 0, 0, 9, 1)); other == a || other == b { // an ipvlan child: another client behind the same MAC
		t.Errorf("another DUID behind NIC 1 got %q, which was taken", other)
	}
}

func TestTheSameClientGetsTheSameAddressAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, large())
	first := map[byte]string{}
	for i := range byte(50) {
		first[i] = l.join(i, "")
	}
	l.now += 2 * DefaultLease
	l.restart(large()) // all have ended, and only the file remembers
	again, fresh := map[byte]string{}, map[byte]string{}
	other := newLab(t, large())
	for i := range byte(50) {
		again[49-i] = l.join(49-i, "") // in another order
		fresh[49-i] = other.join(49-i, "")
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("addresses after a restart and an hour's absence (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(first, fresh); diff != "" {
		t.Errorf("addresses from a server that never heard of them (-before +after):\n%s", diff)
	}
}

func TestAFullRangeReusesTheLongestFree(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	for i := range byte(3) {
		l.now += 10
		l.join(i, "::1"+string('0'+i))
	}
	l.out = nil
	l.send(9, solicit, ias(1))
	l.send(9, request, ias(1, "::10"))
	l.send(0, renew, ias(1, "::10"))
	l.send(2, release, ias(1, "::12"))
	l.now += 5
	l.send(1, release, ias(1, "::11"))
	l.send(9, solicit, ias(1), ias(2), ias(3))
	l.join(9, "")
	l.now += 5
	l.join(2, "") // its own is another's now
	l.want(`
		9 SOLICIT: ADVERTISE first choice true ia1[NoAddrsAvail]
		9 REQUEST: REPLY ia1[NoAddrsAvail]
		0 RENEW: REPLY ia1[::10 3600/3600 T 1800/2880]; old ::10 of 0
		2 RELEASE: REPLY Success; del ::12 of 2
		1 RELEASE: REPLY Success; del ::11 of 1
		9 SOLICIT: ADVERTISE first choice true ia1[::12 3600/3600 T 1800/2880] ia2[::11 3600/3600 T 1800/2880] ia3[NoAddrsAvail]
		9 SOLICIT: ADVERTISE first choice true ia1[::12 3600/3600 T 1800/2880]
		9 REQUEST: REPLY ia1[::12 3600/3600 T 1800/2880]; add ::12 of 9
		2 SOLICIT: ADVERTISE first choice true ia1[::11 3600/3600 T 1800/2880]
		2 REQUEST: REPLY ia1[::11 3600/3600 T 1800/2880]; add ::11 of 2`)
}
