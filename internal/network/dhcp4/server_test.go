package dhcp4

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/lease"
)

const (
	discover = dhcpv4.MessageTypeDiscover
	request  = dhcpv4.MessageTypeRequest
	decline  = dhcpv4.MessageTypeDecline
	release  = dhcpv4.MessageTypeRelease
	inform   = dhcpv4.MessageTypeInform
)

func TestAClientGetsAnAddressRenewsAndReleasesIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1)
	l.now += 1800
	l.send(1, request, has("10.7.0.10"))
	l.wantAndClear(`
		1 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		1 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; add 10.7.0.10 of 1
		1 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; old 10.7.0.10 of 1`)
	l.wantLeases(`10.7.0.10 of 1 "" until 6400`)
	l.out = nil
	l.send(1, release, has("10.7.0.10"), server("10.7.0.1"))
	l.send(1, release, has("10.7.0.10"), server("10.7.0.1"))
	l.send(2, release, has("10.7.0.10"), server("10.7.0.1"))
	l.wantAndClear(`
		1 RELEASE:; del 10.7.0.10 of 1
		1 RELEASE:
		2 RELEASE: (nothing to say)`)
	l.wantLeases(``)
}

func TestOfferedAddressesMustBeTakenUpAsOffered(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, discover, wish("10.7.0.10"))
	l.send(1, request, wish("10.7.0.11"), server("10.7.0.1"))
	l.send(2, request, wish("10.7.0.10"), server("10.7.0.1"))
	l.send(1, request, wish("10.7.0.10"), server("10.7.0.1"))
	l.want(`
		1 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		1 REQUEST: NAK to 255.255.255.255
		2 REQUEST: NAK to 255.255.255.255
		1 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; add 10.7.0.10 of 1`)
}

func TestChoosingAnotherServerFreesTheOffer(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, discover, wish("10.7.0.10"))
	l.send(2, discover, wish("10.7.0.10"))
	l.send(1, request, wish("10.9.0.9"), server("10.9.0.1"))
	l.send(3, discover, wish("10.7.0.10"))
	l.want(`
		1 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		2 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		1 REQUEST: (foreign server)
		3 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10`)
}

func TestARebootingClientIsConfirmedOrSentAway(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, wish("10.7.0.10"))
	l.out = nil
	l.send(1, request, wish("10.7.0.10"))   // what it has
	l.send(2, request, wish("10.7.0.10"))   // what somebody else has
	l.send(2, request, wish("192.168.1.9")) // from another network
	l.send(2, request, wish("10.7.0.11"))   // free: our lease file may have been lost
	l.send(3, request, has("10.7.0.200"))   // renewing what was never in a range
	l.send(3, request)                      // nothing at all
	l.want(`
		1 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; old 10.7.0.10 of 1
		2 REQUEST: NAK to 255.255.255.255
		2 REQUEST: NAK to 255.255.255.255
		2 REQUEST: ACK 10.7.0.11 for 1h0m0s to 10.7.0.11; add 10.7.0.11 of 2
		3 REQUEST: NAK to 255.255.255.255
		3 REQUEST: (malformed)`)
}

func TestAServerAmongOthersStaysSilentToStrangers(t *testing.T) {
	t.Parallel()
	n := small()
	n.Authoritative = false
	l := newLab(t, n)
	l.join(1, wish("10.7.0.10"))
	l.out = nil
	l.send(2, request, wish("10.7.0.11"))
	l.send(2, request, wish("192.168.1.9"))
	l.send(1, request, wish("192.168.1.9"))
	l.want(`
		2 REQUEST: (nothing to say)
		2 REQUEST: (nothing to say)
		1 REQUEST: NAK to 255.255.255.255`)
}

func TestADeclinedAddressRestsAndOnlyItsHolderCanDecline(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, wish("10.7.0.10"))
	l.out = nil
	l.send(2, decline, wish("10.7.0.10"), server("10.7.0.1"))
	l.send(1, decline, wish("10.7.0.10"), server("10.7.0.1"))
	l.send(1, discover, wish("10.7.0.10"))
	l.now += restSeconds
	l.s.Expire(l.now)
	l.send(2, discover, wish("10.7.0.10"))
	l.want(`
		2 DECLINE: (nothing to say)
		1 DECLINE:; del 10.7.0.10 of 1
		1 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		2 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10`)
}

func TestInformAnswersWithoutALease(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	r := l.send(1, inform, has("10.7.0.99"))
	l.send(1, inform, has("192.168.1.9"))
	l.want(`
		1 INFORM: ACK to 10.7.0.99
		1 INFORM: (nothing to say)`)
	if r.Message.IPAddressLeaseTime(0) != 0 || len(r.Message.Router()) != 1 {
		t.Errorf("an INFORM was answered with\n%s", r.Message.Summary())
	}
}

func TestFixedHostsGetTheirAddressByMACClientIDOrName(t *testing.T) {
	t.Parallel()
	n := small()
	n.Hosts = []Host{
		{MAC: "52:54:00:00:00:01", Name: "alpha", IP: netip.MustParseAddr("10.7.0.101"), LeaseSeconds: 600},
		{ClientID: "ff:00:01", IP: netip.MustParseAddr("10.7.0.10")},
		{ClientID: "beta-box", IP: netip.MustParseAddr("10.7.0.103")},
		{Name: "gamma", IP: netip.MustParseAddr("10.7.0.104")},
		{MAC: "52:54:00:00:00:05", Name: "delta"},
	}
	l := newLab(t, n)
	l.join(1)
	l.join(2, clientID(0xff, 0, 1))
	l.join(3, clientID([]byte("beta-box")...))
	l.join(4, dhcpv4.WithOption(dhcpv4.OptHostName("Gamma")))
	l.join(5)
	l.send(6, discover, wish("10.7.0.10"))
	l.wantAndClear(`
		1 DISCOVER: OFFER 10.7.0.101 for 10m0s to 10.7.0.101
		1 REQUEST: ACK 10.7.0.101 for 10m0s to 10.7.0.101; add 10.7.0.101 of 1
		2 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		2 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; add 10.7.0.10 of 2
		3 DISCOVER: OFFER 10.7.0.103 for 1h0m0s to 10.7.0.103
		3 REQUEST: ACK 10.7.0.103 for 1h0m0s to 10.7.0.103; add 10.7.0.103 of 3
		4 DISCOVER: OFFER 10.7.0.104 for 1h0m0s to 10.7.0.104
		4 REQUEST: ACK 10.7.0.104 for 1h0m0s to 10.7.0.104; add 10.7.0.104 of 4
		5 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		5 REQUEST: ACK 10.7.0.11 for 1h0m0s to 10.7.0.11; add 10.7.0.11 of 5
		6 DISCOVER: OFFER 10.7.0.12 for 1h0m0s to 10.7.0.12`)
	l.wantLeases(`
		10.7.0.10 of 2 "" until 4600
		10.7.0.11 of 5 "delta" until 4600
		10.7.0.101 of 1 "alpha" until 1600
		10.7.0.103 of 3 "" until 4600
		10.7.0.104 of 4 "gamma" until 4600`)
}

func TestAFixedAddressSomebodyHoldsIsMovedToItsOwnerAtTheNextRenewal(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, wish("10.7.0.10"))
	n := small()
	n.Hosts = []Host{{MAC: nic(2).String(), IP: netip.MustParseAddr("10.7.0.10")}}
	l.restart(n)
	l.out = nil
	l.join(2)                            // its address is in use: one from the range for now
	l.send(1, request, has("10.7.0.10")) // the holder must go
	l.join(1)
	l.now += 3601
	l.s.Expire(l.now)
	l.send(2, request, has("10.7.0.11")) // could have its own now
	l.join(2)
	l.want(`
		2 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		2 REQUEST: ACK 10.7.0.11 for 1h0m0s to 10.7.0.11; add 10.7.0.11 of 2
		1 REQUEST: NAK to 255.255.255.255
		1 DISCOVER: OFFER 10.7.0.12 for 1h0m0s to 10.7.0.12
		1 REQUEST: ACK 10.7.0.12 for 1h0m0s to 10.7.0.12; del 10.7.0.10 of 1; add 10.7.0.12 of 1
		2 REQUEST: NAK to 255.255.255.255
		2 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		2 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; add 10.7.0.10 of 2`)
}

func TestClonesWithOneClientIDAreTwoClients(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	id := clientID(0xff, 1, 2, 3, 4)
	a, b := l.join(1, id), l.join(2, id)
	if a == b || a == "" || b == "" {
		t.Errorf("two NICs with one client id got %q and %q", a, b)
	}
	if c := l.join(1); c != a { // the same NIC without an id, as a boot ROM
		t.Errorf("NIC 1 got %q with a client id and %q without", a, c)
	}
	if c := l.join(2, clientID(9, 9)); c == a || c == b { // an ipvlan child: another client behind the same MAC
		t.Errorf("another client id behind NIC 2 got %q, which was taken", c)
	}
}

func TestTheSameNICGetsTheSameAddressAgain(t *testing.T) {
	t.Parallel()
	n := small()
	n.Ranges[0].End = netip.MustParseAddr("10.7.0.250")
	l := newLab(t, n)
	first := map[byte]string{}
	for i := range byte(50) {
		first[i] = l.join(i)
	}
	l.now += 2 * DefaultLease
	l.restart(n) // all have ended, and only the file remembers
	again := map[byte]string{}
	for i := range byte(50) {
		again[49-i] = l.join(49 - i) // in another order
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("addresses after a restart and an hour's absence (-before +after):\n%s", diff)
	}
	fresh := newLab(t, n)
	if a, b := fresh.join(3), newLab(t, n).join(3); a != b {
		t.Errorf("NIC 3 got %s from one server and %s from another: the place must depend on the MAC alone", a, b)
	}
}

func TestAFullRangeReusesTheLongestFreeAndThenIsSilent(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	for i := range byte(3) {
		l.now += 10
		l.join(i, wish("10.7.0.1"+string('0'+i)))
	}
	l.out = nil
	l.send(9, discover)
	l.send(1, release, has("10.7.0.11"), server("10.7.0.1"))
	l.now += 5
	l.send(2, release, has("10.7.0.12"), server("10.7.0.1"))
	l.join(9)
	l.send(8, discover)
	l.now += offerSeconds - 1
	l.send(7, discover) // 8's offer is the only thing left, and it was not taken up
	l.want(`
		9 DISCOVER: (range exhausted)
		1 RELEASE:; del 10.7.0.11 of 1
		2 RELEASE:; del 10.7.0.12 of 2
		9 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		9 REQUEST: ACK 10.7.0.11 for 1h0m0s to 10.7.0.11; add 10.7.0.11 of 9
		8 DISCOVER: OFFER 10.7.0.12 for 1h0m0s to 10.7.0.12
		7 DISCOVER: OFFER 10.7.0.12 for 1h0m0s to 10.7.0.12`)
}

func TestLeasesEndOnTimeAndAreReportedOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.join(1, wish("10.7.0.10"))
	l.now += 100
	l.join(2, wish("10.7.0.11"))
	type due struct {
		Next int64
		Gone []lease.Change
	}
	var got []due
	for _, now := range []int64{4599, 4600, 4700} {
		gone := l.s.Expire(now)
		got = append(got, due{l.s.NextExpiry(), gone})
	}
	ended := func(n byte, ip string, end int64) []lease.Change {
		return []lease.Change{{Kind: lease.Deleted, Lease: lease.Lease{IP: netip.MustParseAddr(ip), MAC: nic(n), Ends: end}}}
	}
	want := []due{{4600, nil}, {4700, ended(1, "10.7.0.10", 4600)}, {lease.Never, ended(2, "10.7.0.11", 4700)}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
}

func TestALeaseThatNeverEndsHasNoRenewalTimes(t *testing.T) {
	t.Parallel()
	n := small()
	n.LeaseSeconds = Forever
	l := newLab(t, n)
	r := l.send(1, discover)
	if r.Message.Options.Has(dhcpv4.OptionRenewTimeValue) || r.Message.IPAddressLeaseTime(0) != Forever*time.Second {
		t.Errorf("offered\n%s", r.Message.Summary())
	}
	l.join(1)
	l.now += 1 << 40
	l.wantLeases(`10.7.0.10 of 1 "" until 9223372036854775807`)
}

func TestReplacingTheConfigurationKeepsPromises(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, discover, wish("10.7.0.10"))
	old := l.s
	n := small()
	n.Domain = "other.test"
	l.restart(n)
	l.s.Inherit(old)
	l.send(2, discover, wish("10.7.0.10"))
	l.send(1, request, wish("10.7.0.10"), server("10.7.0.1"))
	l.want(`
		1 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		2 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		1 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; add 10.7.0.10 of 1`)
}

func (l *lab) wantAndClear(lines string) {
	l.t.Helper()
	l.want(lines)
	l.out = nil
}

func TestAnOfferOfTheProcessBeforeThisOneIsHonoured(t *testing.T) {
	t.Parallel()
	l := newLab(t, small())
	l.send(1, discover, wish("10.7.0.10"))
	l.restart(small()) // knows of no offer
	l.send(2, discover, wish("10.7.0.11"))
	l.send(1, request, wish("10.7.0.10"), server("10.7.0.1"))
	l.send(3, request, wish("10.7.0.11"), server("10.7.0.1"))
	l.want(`
		1 DISCOVER: OFFER 10.7.0.10 for 1h0m0s to 10.7.0.10
		2 DISCOVER: OFFER 10.7.0.11 for 1h0m0s to 10.7.0.11
		1 REQUEST: ACK 10.7.0.10 for 1h0m0s to 10.7.0.10; add 10.7.0.10 of 1
		3 REQUEST: NAK to 255.255.255.255`)
}
