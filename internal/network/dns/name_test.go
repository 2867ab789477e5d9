package dns

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

// FuzzName reads names beside the library, which allows pointers ahead: what we accept it reads the same.
func FuzzName(f *testing.F) {
	f.Add(append(make([]byte, headerLen), "\x01a\x03BcD\x00"...), headerLen)
	f.Add(append(make([]byte, headerLen), "\x01a\x00\x01b\xc0\x0c"...), headerLen+3)
	f.Add(append(make([]byte, headerLen), "\xc0\x0c"...), headerLen)
	f.Fuzz(func(t *testing.T, msg []byte, off int) {
		if off < headerLen || off > len(msg) {
			return
		}
		name, next, err := readName(nil, msg, off)
		if err != nil {
			return
		}
		want, after, err := dns.UnpackDomainName(msg, off)
		if err != nil {
			t.Fatalf("we read %q, the library: %v", name, err)
		}
		got, err := wireName(want)
		if err != nil || got != string(name) || next != after {
			t.Errorf("we read %q up to %d, the library %q (%q) up to %d: %v", name, next, want, got, after, err)
		}
		if skipName(msg, off) != next {
			t.Errorf("it is skipped up to %d, and ends at %d", skipName(msg, off), next)
		}
	})
}

func TestTheReverseOfEveryAddressIsUnderstood(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ip, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4"))
		if rapid.Bool().Draw(t, "is v6") {
			ip, _ = netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6"))
		}
		s, err := dns.ReverseAddr(ip.String())
		if err != nil {
			t.Skip("the library takes a mapped address for IPv4")
		}
		name, err := wireName(s)
		if err != nil {
			t.Fatal(err)
		}
		for p := netip.PrefixFrom(ip, ip.BitLen()); ; {
			got, ok := reverseName([]byte(name))
			if !ok || got.Masked() != p.Masked() || got.Bits() != p.Bits() {
				if ip.Is4In6() {
					t.Skip("the library takes a mapped address for IPv4")
				}
				t.Fatalf("%q means %v, want %v", name, got, p.Masked())
			}
			step := ip.BitLen() / 32 * 8 // of IPv4 an octet, of IPv6 four bits
			if ip.Is6() {
				step = 4
			}
			if p.Bits() == 0 {
				return
			}
			p = netip.PrefixFrom(ip, p.Bits()-step)
			name = parent(name)
		}
	})
}

func TestLeasesAreKeptLikeAMapOfThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, model := newLeases(), map[netip.Addr]string{}
		ips := []netip.Addr{addr("10.0.0.1"), addr("10.0.0.2"), addr("10.0.0.3"), addr("fd00::1"), addr("fd00::2")}
		names := []string{"", "\x01a\x00", "\x01b\x00"}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			ip, name := rapid.SampledFrom(ips).Draw(t, "ip"), rapid.SampledFrom(names).Draw(t, "name")
			l.set(ip, name)
			model[ip] = name
			for _, n := range names[1:] {
				v4, v6 := l.addresses(nil, nil, []byte(n))
				got := append(v4, v6...)
				slices.SortFunc(got, netip.Addr.Compare)
				var want []netip.Addr
				for _, ip := range ips {
					if model[ip] == n {
						want = append(want, ip)
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%q has %v, want %v", n, got, want)
				}
			}
			for _, ip := range ips {
				if got := l.name(ip); got != model[ip] {
					t.Fatalf("%v is %q, want %q", ip, got, model[ip])
				}
			}
		}
	})
}

func TestQuestionsUpstreamCannotBeGuessed(t *testing.T) {
	t.Parallel()
	q := &question{name: "\x0aabcdefghij\x07example\x00", typ: dns.TypeA, rd: true, cd: true, do: true}
	s := newShared(t, Options{Random: strings.NewReader("\x12\x34" + strings.Repeat("\x55", 32) + strings.Repeat("\xff", 34))})
	for _, want := range []string{
		// Bit 0 of the noise is that of the length byte before the first letter.
		"1234 0130 0001 0000 0000 0001 0a 61 42 63 44 65 46 67 48 69 4a 07 45 78 41 6d 50 6c 45 00 0001 0001",
		"ffff 0130 0001 0000 0000 0001 0a 41 42 43 44 45 46 47 48 49 4a 07 45 58 41 4d 50 4c 45 00 0001 0001",
	} {
		got, err := s.message(q, style{})
		if err != nil {
			t.Fatal(err)
		}
		if want := append(bytesOf(t, want), bytesOf(t, "00 0029 04d0 00008000 0000")...); !bytes.Equal(got, want) {
			t.Errorf("asked with\n %x, want\n %x", got, want)
		}
	}
	if _, err := s.message(q, style{}); err == nil {
		t.Error("a question was made without randomness")
	}
	seen := map[string]bool{}
	real := newShared(t, Options{})
	for range 50 {
		msg, err := real.message(q, style{})
		if err != nil {
			t.Fatal(err)
		}
		seen[string(msg)] = true
		if same, sameCase := matches(msg, answerTo(msg)); !same || !sameCase {
			t.Errorf("the answer to %x is not taken", msg)
		}
	}
	if len(seen) != 50 {
		t.Errorf("of 50 questions %d differ", len(seen))
	}
}

// answerTo is the question with the bit of an answer.
func answerTo(msg []byte) []byte {
	out := bytes.Clone(msg)
	out[2] |= 0x80
	return out
}

var errNoRandomness = errors.New("no randomness")

type noRandomness struct{}

func (noRandomness) Read([]byte) (int, error) { return 0, errNoRandomness }

func TestWithoutRandomnessNothingIsAsked(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, zoneScript(t, "a.example. 60 IN A 192.0.2.1"))
	s := newServer(t, Config{Forwarders: []Forwarder{{Addr: up.addr}}}, newShared(t, Options{Random: noRandomness{}}))
	if got := ask(t, s, "a.example. A"); got != "SERVFAIL rd ra | a.example. A" || up.asked.Load() != 0 {
		t.Errorf("got %s, asked %d times", got, up.asked.Load())
	}
}
