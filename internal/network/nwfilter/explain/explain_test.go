package explain

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/nwfilter"
)

const own = "52:54:00:00:00:01"

func ask(t *testing.T, filter string, a Ask) Answer {
	t.Helper()
	set, err := nwfilter.ShippedSet()
	if err != nil {
		t.Fatal(err)
	}
	p, v, err := nwfilter.Compile(set, filter, nwfilter.Params{"MAC": {own}, "IP": {"10.0.0.1", "10.0.0.3"}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.Question(own)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Explain(p, v, q)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestTheRuleThatDecidesIsNamedWithTheWayToIt(t *testing.T) {
	t.Parallel()
	a := ask(t, "clean-traffic", Ask{TCP: "10.0.0.9:1000,10.0.0.2:80"})
	want := `From the guest: 54 octets from 52:54:00:00:00:01 to 02:00:00:00:00:01, IPv4 from 10.0.0.9 to 10.0.0.2, TCP from port 1000 to 80; connection new.
It is dropped: rule 3 of filter no-ip-spoofing.
The rules that it met:
  root       jump mac out
  mac        return out mac ether src $MAC/mac; $MAC/mac is 52:54:00:00:00:01 (rule 1 of no-mac-spoofing)
  root       jump ipv4-ip out ip
  ipv4-ip    drop out (rule 3 of no-ip-spoofing)
`
	if diff := cmp.Diff(want, a.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if a.Passes || a.Verdict != "drop" || a.Filter != "no-ip-spoofing" || a.Rule != 3 || a.Layer != "frame" || a.Chain != "ipv4-ip" {
		t.Errorf("%+v", a)
	}
	a = ask(t, "no-ip-spoofing", Ask{UDP: "10.0.0.3:1000,10.0.0.2:53"})
	if got := a.Path[1].Text; got != "return out ip ip src $IP/ipv4; $IP/ipv4 is 10.0.0.1 or 10.0.0.3" || !a.Passes || !strings.Contains(a.String(), "It passes: no rule says otherwise.") {
		t.Errorf("%q\n%s", got, a)
	}
}

func TestFramesAreMadeAsTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Ask
		want string
	}{
		{Ask{TCP: "10.0.0.1:1000,10.0.0.2:80"}, "020000000001525400000001 0800 4500002800004000400626ce0a0000010a000002 03e80050 0000000000000000 5002ffff 97a8 0000"},
		{Ask{TCP: "[fe80::1]:1,[fe80::2]:2,ack,PSH", In: true}, "525400000001020000000001 86dd 6000000000140640 fe800000000000000000000000000001 fe800000000000000000000000000002 00010002 0000000000000000 5018ffff b2c5 0000"},
		{Ask{UDP: "10.0.0.1:68,255.255.255.255:67"}, "ffffffffffff525400000001 0800 4500001c000040004011 30d1 0a000001ffffffff 00440043 0008 f556"},
		{Ask{UDP: "[fe80::1]:546,[ff02::1:2]:547"}, "333300010002525400000001 86dd 6000000000081140 fe800000000000000000000000000001 ff020000000000000000000000010002 02220223 0008 fe11"},
		{Ask{ICMP: "10.0.0.1,10.0.0.2"}, "020000000001525400000001 0800 4500001c000040004001 26df 0a0000010a000002 0800 f7fd 00010001"},
		{Ask{ICMP: "fe80::1,ff02::1,135/0", DstMAC: "33:33:00:00:00:09"}, "333300000009525400000001 86dd 6000000000083a40 fe800000000000000000000000000001 ff020000000000000000000000000001 8700 7b35 00010001"},
		{Ask{ARP: "request,10.0.0.1,10.0.0.2"}, "ffffffffffff525400000001 0806 0001080006040001 525400000001 0a000001 000000000000 0a000002"},
		{Ask{ARP: "reply,10.0.0.1,10.0.0.2", SrcMAC: "52:54:00:00:00:09"}, "020000000001525400000009 0806 0001080006040002 525400000009 0a000001 020000000001 0a000002"},
		{Ask{Frame: "ff:ff:ff:ff:ff:ff 52 54 00 00 00 01\n0806"}, "ffffffffffff525400000001 0806"},
	} {
		q, err := c.a.Question(own)
		if got := hex.EncodeToString(q.Frame); err != nil || got != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%+v: %v\n got %s\nwant %s", c.a, err, got, strings.ReplaceAll(c.want, " ", ""))
		}
		if q.Direction == nwfilter.In != c.a.In || q.Flow.State != nwfilter.New {
			t.Errorf("%+v: %+v", c.a, q)
		}
		// What was made sums up: the sum over a header with its checksum is nothing.
		if len(q.Frame) > 34 && q.Frame[12] == 8 && q.Frame[13] == 0 && checksum(q.Frame[14:34]) != 0 {
			t.Errorf("%+v: the header's checksum is wrong", c.a)
		}
	}
}

func TestQuestionsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Ask
		want string
	}{
		{Ask{}, "say what the frame is by one of frame, tcp, udp, icmp and arp; here are 0"},
		{Ask{TCP: "a", UDP: "b"}, "here are 2"},
		{Ask{TCP: "10.0.0.1:1"}, "want SRC:PORT,DST:PORT"},
		{Ask{TCP: "10.0.0.1:1,10.0.0.2"}, "tcp \"10.0.0.1:1,10.0.0.2\""},
		{Ask{TCP: "10.0.0.1:1,[fe80::1]:2"}, "both are IPv4 addresses, or both IPv6"},
		{Ask{TCP: "10.0.0.1:1,10.0.0.2:2,ECE"}, "\"ECE\" is not a flag"},
		{Ask{UDP: "10.0.0.1:1,10.0.0.2:2,SYN"}, "nothing may follow"},
		{Ask{ICMP: "10.0.0.1"}, "want two addresses"},
		{Ask{ICMP: "10.0.0.1,10.0.0.2,300"}, "\"300\" is not a number from 0 to 255"},
		{Ask{ARP: "request,fe80::1,fe80::2"}, "want request,SRC,DST"},
		{Ask{ARP: "what,10.0.0.1,10.0.0.2"}, "want request,SRC,DST"},
		{Ask{Frame: "00"}, "at least 14 octets, this one 1"},
		{Ask{Frame: "xy"}, "two hexadecimal digits each"},
		{Ask{Frame: "00", State: "old"}, "state \"old\" is not known"},
		{Ask{ARP: "request,10.0.0.1,10.0.0.2", SrcMAC: "x"}, "malformed MAC address"},
	} {
		if _, err := c.a.Question(own); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want …%s…", c.a, err, c.want)
		}
	}
}

func TestQuestionsAndAnswersTravelAsJSON(t *testing.T) {
	t.Parallel()
	a := Ask{In: true, TCP: "10.0.0.2:80,10.0.0.1:1000,SYN,ACK", State: "established", Reply: true, Connections: 3, Sets: map[string]bool{"good": true}}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var again Ask
	if err := json.Unmarshal(b, &again); err != nil || !cmp.Equal(a, again) {
		t.Errorf("%v: %s", err, cmp.Diff(a, again))
	}
	answer := ask(t, "clean-traffic", a)
	if b, err = json.Marshal(answer); err != nil {
		t.Fatal(err)
	}
	var back Answer
	if err := json.Unmarshal(b, &back); err != nil || !cmp.Equal(answer, back) {
		t.Errorf("%v: %s", err, cmp.Diff(answer, back))
	}
}

// FuzzDescribe puts frames of strangers into words.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte{}, "10.0.0.1:1,10.0.0.2:2")
	f.Add([]byte("525400000001\x08\x00\x4f"), "request,1.1.1.1,2.2.2.2")
	f.Fuzz(func(_ *testing.T, frame []byte, s string) {
		_ = Describe(Question{Frame: frame})
		for _, a := range []Ask{{TCP: s}, {UDP: s}, {ICMP: s}, {ARP: s}, {Frame: s}} {
			if q, err := a.Question(own); err == nil {
				_ = Describe(q)
			}
		}
	})
}
