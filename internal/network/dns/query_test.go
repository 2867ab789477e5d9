package dns

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// bytesOf reads hexadecimal with spaces and, between quotes, names as they are on the wire.
func bytesOf(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for _, f := range strings.Fields(s) {
		if name, ok := strings.CutPrefix(f, "'"); ok {
			w, err := wireName(strings.TrimSuffix(name, "'"))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, w...)
			continue
		}
		b, err := hex.DecodeString(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

const (
	oneQuestion = "1267 0100 0001 0000 0000 0000 "
	withOne     = "1267 0100 0001 0000 0000 0001 'a' 0001 0001 "
)

func TestMalformedQuestionsGetAnErrorOrNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Hosts: []Host{{IP: addr("10.0.0.1"), Names: []string{"a"}}}}, nil)
	const fine = "NOERROR aa rd ra | a. A\nan a. 0 IN A 10.0.0.1"
	const form = "FORMERR rd ra | a. A"
	for name, c := range map[string]struct{ msg, want string }{
		"nothing":                      {"", "nothing"},
		"half a header":                {"1267 0100 0001", "nothing"},
		"an answer":                    {"1267 8100 0001 0000 0000 0000 'a' 0001 0001", "nothing"},
		"a good one":                   {oneQuestion + "'a' 0001 0001", fine},
		"bytes behind it":              {oneQuestion + "'a' 0001 0001 00", fine},
		"STATUS":                       {"1267 1000 0001 0000 0000 0000 'a' 0001 0001", "NOTIMP ra"},
		"UPDATE":                       {"1267 2800 0001 0000 0000 0000 'a' 0006 0001", "NOTIMP ra"},
		"no question":                  {"1267 0100 0000 0000 0000 0000", "FORMERR rd ra"},
		"two questions":                {"1267 0100 0002 0000 0000 0000 'a' 0001 0001 'a' 0001 0001", "FORMERR rd ra"},
		"an answer with it":            {"1267 0100 0001 0001 0000 0000 'a' 0001 0001", "FORMERR rd ra"},
		"no name":                      {oneQuestion, "FORMERR rd ra"},
		"a name without end":           {oneQuestion + "0161", "FORMERR rd ra"},
		"no type":                      {oneQuestion + "'a' 00", "FORMERR rd ra"},
		"no class":                     {oneQuestion + "'a' 0001", "FORMERR rd ra"},
		"a name that points to itself": {oneQuestion + "c00c 0001 0001", "FORMERR rd ra"},
		"a name that points ahead":     {oneQuestion + "c010 0001 0001", "FORMERR rd ra"},
		"a name in the header":         {"1267 0100 0001 0000 0000 0000 c002 0001 0001", "FORMERR rd ra"},
		"a label of a kind given back": {oneQuestion + "4161 00 0001 0001", "FORMERR rd ra"},
		"a name of 256 bytes":          {oneQuestion + strings.Repeat("01 61 ", 128) + "00 0001 0001", "FORMERR rd ra"},
		"class ANY":                    {oneQuestion + "'a' 0001 00ff", "REFUSED rd ra | a. A"},
		"type OPT":                     {oneQuestion + "'a' 0029 0001", "FORMERR rd ra | a. OPT"},
		"type 0":                       {oneQuestion + "'a' 0000 0001", "FORMERR rd ra | a. None"},
		"an unknown type":              {oneQuestion + "'a' ff00 0001", "NOERROR aa rd ra | a. \nns a. 5 IN SOA a. nobody.invalid. 1 3600 1200 604800 5"},
		"an additional that is cut":    {withOne + "00 0029", form},
		"an additional too long":       {withOne + "00 0029 04d0 00000000 0004 000a", form},
		"an OPT with a name":           {withOne + "'b' 0029 04d0 00000000 0000", form},
		"an option that is cut":        {withOne + "00 0029 04d0 00000000 0003 000a00", form},
		"an option too long":           {withOne + "00 0029 04d0 00000000 0004 000a 0001", form},
		"another additional":           {withOne + "'b' 0001 0001 00000000 0004 0a000001", fine},
		"five additionals":             {"1267 0100 0001 0000 0000 0005 'a' 0001 0001", form},
		"two OPTs": {
			"1267 0100 0001 0000 0000 0002 'a' 0001 0001 00 0029 04d0 00000000 0000 00 0029 04d0 00000000 0000",
			form + "\nopt version 0 size 1232 do false options 0",
		},
		"EDNS of a later version": { // 16 is BADVERS here, and BADSIG elsewhere
			withOne + "00 0029 04d0 00010000 0000", "BADSIG rd ra | a. A\nopt version 0 size 1232 do false options 0",
		},
		"a cookie": {
			withOne + "00 0029 04d0 00008000 000c 000a 0008 0102030405060708", fine + "\nopt version 0 size 1232 do true options 0",
		},
		"flags that nobody knows": {
			withOne + "00 0029 04d0 00007fff 0000", fine + "\nopt version 0 size 1232 do false options 0",
		},
	} {
		msg := bytesOf(t, c.msg)
		got := askRaw(t, s, msg, 0)
		if len(got) == 0 {
			got = nil
		}
		if text := tell(t, got); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, c.want)
		}
		if got != nil && !bytes.Equal(got[:2], msg[:2]) {
			t.Errorf("%s: the answer has another id: %x", name, got[:2])
		}
	}
}

func TestALongAnswerIsCutToNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{}, nil)
	for i := range 300 {
		s.SetLease(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), "many")
	}
	for _, c := range []struct {
		words string
		limit int
		want  string
		n     int
	}{
		{"many. A", 0, "NOERROR aa tc rd ra | many. A", 0},
		{"many. A edns=4096", 0, "NOERROR aa tc rd ra | many. A\nopt version 0 size 1232 do false options 0", 0},
		{"many. A", maxTCP, "", maxAddresses},
	} {
		out := askRaw(t, s, pack(t, 1, c.words), c.limit)
		m := new(dns.Msg)
		if err := m.Unpack(out); err != nil {
			t.Fatal(err)
		}
		if len(m.Answer) != c.n || c.want != "" && tell(t, out) != c.want {
			t.Errorf("%s up to %d bytes: %d records, %s", c.words, c.limit, len(m.Answer), tell(t, out))
		}
	}
	s = newServer(t, Config{
		Domain: "lab", Hosts: []Host{{IP: addr("10.0.0.1"), Names: []string{"a"}}},
		SRV: []SRV{{Service: "x", Protocol: "tcp", Target: "a"}, {Service: "x", Protocol: "tcp", Target: "a", Priority: 1}},
	}, nil)
	q := pack(t, 1, "_x._tcp.lab. SRV")
	full := len(askRaw(t, s, q, maxTCP))
	if got, want := tell(t, askRaw(t, s, q, full-1)), tell(t, askRaw(t, s, q, maxTCP)); got != want[:strings.LastIndex(want, "\nar")] {
		t.Errorf("what may be left out was not, alone:\n%s", got)
	}
}
