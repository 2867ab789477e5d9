package load

import (
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// line is a guest behind a tap, and the host at the other end.
type line struct {
	inside            *hosttest.NS
	host, guest       In
	tap               *host.Tap
	end               *Guest
	four, six         netip.Addr // the guest's
	hostFour, hostSix netip.Addr
}

func newLine(t *testing.T) *line {
	t.Helper()
	ns, inside := hosttest.NewNS(t), hosttest.NewNS(t)
	tap, err := ns.Kernel().CreateTap(host.TapSpec{Name: "vnet0", VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Shell("ip address add 10.0.0.1/24 dev vnet0; ip address add fd00::1/64 dev vnet0 nodad; ip link set vnet0 up")
	l := &line{
		inside: inside, host: ns.Do, guest: inside.Do, tap: tap,
		four: netip.MustParseAddr("10.0.0.2"), six: netip.MustParseAddr("fd00::2"),
		hostFour: netip.MustParseAddr("10.0.0.1"), hostSix: netip.MustParseAddr("fd00::1"),
	}
	card := Card{Name: "eth0", Addresses: []netip.Prefix{netip.PrefixFrom(l.four, 24), netip.PrefixFrom(l.six, 64)}}
	if l.end, err = NewGuest(inside.Kernel(), ns.Kernel(), tap, card, []byte{0x52, 0x54, 0, 0, 0, 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.end.Close(), tap.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// patience is how long something may take on a machine that is busy with everything else.
const patience = time.Minute

// await waits until a flow has brought so much.
func await(t *testing.T, f *Flow, bytes int64) {
	t.Helper()
	for late := time.Now().Add(patience); f.Read().Bytes < bytes; <-time.After(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d bytes arrived within %v, want %d", f.Read().Bytes, patience, bytes)
		}
	}
}

func TestTrafficGoesBothWaysInSegmentsOf64KiB(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	for _, way := range []struct {
		name     string
		from, to In
		address  netip.Addr
	}{
		{"from the guest", l.guest, l.host, l.hostFour},
		{"from the guest by IPv6", l.guest, l.host, l.hostSix},
		{"to the guest", l.host, l.guest, l.four},
		{"to the guest by IPv6", l.host, l.guest, l.six},
	} {
		pair := [2]netip.Addr{way.address, way.address}
		f, err := Start(t.Context(), way.from, way.to, Transport{Streams: 2, Six: way.address.Is6()}, pair, 1500, 0)
		if err != nil {
			t.Fatalf("%s: TCP: %v", way.name, err)
		}
		await(t, f, 32<<20)
		f.Stop()
		udp := Transport{Six: way.address.Is6()}
		size := udp.Datagram(1500)
		if f, err = Start(t.Context(), way.from, way.to, udp, pair, 1500, 10<<20); err != nil {
			t.Fatalf("%s: UDP: %v", way.name, err)
		}
		await(t, f, 1<<20)
		f.Stop()
		if got := f.Read().Bytes % int64(size); got != 0 {
			t.Errorf("%s: UDP brought %d bytes beside datagrams of %d", way.name, got, size)
		}
		d, err := Probe(t.Context(), way.from, way.to, way.address, 20, time.Millisecond)
		if err != nil || len(d.sorted) != 20 || d.Lost == 20 || d.Quantile(0) <= 0 {
			t.Errorf("%s: 20 requests took %v, %v", way.name, d, err)
		}
	}
	if sent, got := l.end.Largest(); sent < 60000 || got < 60000 {
		t.Errorf("the largest frames were of %d bytes from the guest and %d to it, want segments of 64 KiB", sent, got)
	}
}

func TestAProbeOfWhatDoesNotAnswerCountsAsLost(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.inside.Shell("ip link set eth0 down")
	d, err := Probe(t.Context(), l.host, l.guest, l.four, 2, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if d.Lost != 2 || d.Quantile(0.5) != GivenUp {
		t.Errorf("of 2 requests to a guest without a cable %d are lost, the median %v, want both, and %v", d.Lost, d.Quantile(0.5), GivenUp)
	}
}

func TestARateLastsFromOneArrivalToAnother(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	at := func(bytes int64, after time.Duration) Reading { return Reading{Bytes: bytes, At: began.Add(after)} }
	for _, c := range []struct {
		first, last Reading
		want        float64
	}{
		{at(1000, 0), at(5000, 2*time.Second), 2000},
		{at(1000, 0), at(1000, 0), 0},
		{Reading{}, Reading{}, 0},
	} {
		if got := c.first.Until(c.last); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("from %v to %v the rate is %v, want %v", c.first, c.last, got, c.want)
		}
	}
}

func TestQuantilesOfDelays(t *testing.T) {
	t.Parallel()
	var d Delays
	if got := d.Quantile(0.5); got != GivenUp {
		t.Errorf("the median of no requests is %v, want %v", got, GivenUp)
	}
	for i := range 100 {
		d.sorted = append(d.sorted, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := d.Quantile(q); got != want {
			t.Errorf("the %v quantile of 1 to 100 is %v, want %v", q, got, want)
		}
	}
}

func TestSharesOfATransport(t *testing.T) {
	t.Parallel()
	want := map[string]float64{"tcp": 1, "tcp4": 1, "udp": 1472.0 / 1448, "tcp/ipv6": 1428.0 / 1448, "tcp4/ipv6": 1428.0 / 1448, "udp/ipv6": 1452.0 / 1448}
	for _, x := range Transports() {
		if got := x.Share(1500); got != want[x.String()] {
			t.Errorf("%v has %v, want %v", x, got, want[x.String()])
		}
		delete(want, x.String())
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
}
