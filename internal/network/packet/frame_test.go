package packet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv6"
)

// TestFramesAreWhatTheStandardsSay compares with frames whose checksums a few lines of another language added up.
func TestFramesAreWhatTheStandardsSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"UDP over IPv4", datagram4().Frame(), `
			525400000002 525400000001 0800
			45 10 0026 0000 0000 40 11 66a0 0a070009 0a070001
			0044 0043 0012 e868 612064617461 6772616d`},
		{"UDP over IPv6", datagram6().Frame(), `
			525400000002 525400000001 86dd
			60000000 0012 11 40 fe800000000000000000000000000001 ff020000000000000000000000010002
			0222 0223 0012 fb3a 612064617461 6772616d`},
		{"ICMPv6", message6().Frame(), `
			525400000002 525400000001 86dd
			60000000 0010 3a ff fe800000000000000000000000000001 ff020000000000000000000000000002
			85 00 701e 00000000 01 01 020304050607`},
		{"ARP", question().Frame(), `
			ffffffffffff 525400000001 0806
			0001 0800 06 04 0001 525400000001 0a070009 000000000000 0a070001`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want, err := hex.DecodeString(strings.Join(strings.Fields(c.want), ""))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(c.got, want) {
				t.Errorf("got\n% x, want\n% x", c.got, want)
			}
		})
	}
}

// The other implementation of ICMPv6's checksum that is at hand agrees, for bodies of even and of odd length.
func TestTheICMP6ChecksumIsTheOneOfAnotherImplementation(t *testing.T) {
	t.Parallel()
	for length := range 64 {
		body := bytes.Repeat([]byte{0xa5, 0xff, 0x01}, length)[:length]
		m := message6()
		m.Body = append([]byte{0, 0, 0, 0}, body...)
		other := icmp.Message{Type: ipv6.ICMPTypeRouterSolicitation, Body: &icmp.RawBody{Data: m.Body}}
		want, err := other.Marshal(icmp.IPv6PseudoHeader(net.IP(m.Src.AsSlice()), net.IP(m.Dst.AsSlice())))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Frame()[EthHeader+IPv6Header:]; !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got % x, want % x", length, got, want)
		}
	}
}

// A sum that comes out as zero is sent as its other form: zero would say that there is no checksum.
func TestAChecksumOfZeroIsNotSentAsNone(t *testing.T) {
	t.Parallel()
	for _, d := range []*Datagram{datagram4(), datagram6()} {
		d.Payload = []byte{0, 0}
		f := d.Frame()
		at := len(f) - 4
		d.Payload = []byte{f[at], f[at+1]} // the sum of all the rest
		f = d.Frame()
		if f[at] != 0xff || f[at+1] != 0xff {
			t.Errorf("%s: the checksum is % x", d.Src, f[at:at+2])
		}
	}
}

func TestWhatWasSentIsWhatIsReceived(t *testing.T) {
	t.Parallel()
	for length := range 40 {
		payload := bytes.Repeat([]byte{0xfe, 0xdc, 0xba}, length)[:length]
		for _, d := range []*Datagram{datagram4(), datagram6()} {
			d.Payload = payload
			parse := ParseUDP4
			if d.Src.Addr().Is6() {
				parse = ParseUDP6
			}
			if got, err := parse(d.Frame(), false); err != nil || !reflect.DeepEqual(got, d) {
				t.Errorf("got %+v, %v, want %+v", got, err, d)
			}
		}
		m := message6()
		m.Body = payload
		if got, err := ParseICMP6(m.Frame(), false); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("got %+v, %v, want %+v", got, err, m)
		}
	}
	if got, err := ParseARP(question().Frame()); err != nil || !reflect.DeepEqual(got, question()) {
		t.Errorf("got %+v, %v, want %+v", got, err, question())
	}
}

func TestTheTypeOfAFrameIsInItsHeader(t *testing.T) {
	t.Parallel()
	got := []uint16{Type(nil), Type(make([]byte, 13)), Type(datagram4().Frame()), Type(message6().Frame()), Type(question().Frame()[:14])}
	if want := []uint16{0, 0, TypeIPv4, TypeIPv6, TypeARP}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#04x, want %#04x", got, want)
	}
}

func TestEthernetAddressesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"52:54:00:00:00:01": true, "52-54-00-00-00-01": true, "": false, "52:54:00:00:00": false,
		"52:54:00:00:00:01:02:03": false, "52:54:00:00:00:0g": false,
	} {
		m, got := ParseMAC(text)
		if got != ok || ok && (m != alice || m.String() != "52:54:00:00:00:01") {
			t.Errorf("%q: got %s, %v", text, m, got)
		}
	}
	if err := new(MAC).UnmarshalText([]byte("nobody")); err == nil || err.Error() != "address nobody: not an Ethernet address" {
		t.Errorf("got %v", err)
	}
}

func TestAddressesThatFollowFromOthers(t *testing.T) {
	t.Parallel()
	got := []string{
		alice.LinkLocal().String(), MAC{2}.LinkLocal().String(),
		Multicast(netip.MustParseAddr("ff02::1")).String(), Multicast(netip.MustParseAddr("ff02::1:ff34:5678")).String(),
	}
	want := []string{"fe80::5054:ff:fe00:1", "fe80::ff:fe00:0", "33:33:00:00:00:01", "33:33:ff:34:56:78"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if alice.IsGroup() || !Broadcast().IsGroup() || !Multicast(netip.MustParseAddr("ff02::1")).IsGroup() {
		t.Error("a group was not told from a station")
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := ParseARP(nil)
	var why Refusal
	if !errors.As(err, &why) || why != RefuseSize || err.Error() != "refused: size" {
		t.Errorf("got %v", err)
	}
}
