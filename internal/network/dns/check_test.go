package dns

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// replyTo is a reply to the question for the A records of q.example, from hexadecimal: the counts, and all records.
func replyTo(t testing.TB, counts, records string) []byte {
	t.Helper()
	return bytesOf(t, "1267 8180 0001 "+counts+" 'q.example' 0001 0001 "+records)
}

// The question's name is at 12 and has 11 bytes, so records begin at 27.
const (
	recordA   = " c00c 0001 0001 0000003c 0004 c0000201 "
	recordSOA = " c00e 0006 0001 00000258 0018 c00e c00e 00000001 00000002 00000003 00000004 0000012c "
)

func TestARepliesRecordsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts, records string
		want            string // lies, or for how long it is remembered and how many records are left
	}{
		"an address":              {"0001 0000 0000", recordA, "60 s, 1 0 0"},
		"nothing, with SOA":       {"0000 0001 0000", recordSOA, "300 s, 0 1 0"},
		"nothing, without SOA":    {"0000 0000 0000", "", "0 s, 0 0 0"},
		"a foreign SOA":           {"0000 0001 0000", "'other' 0006 0001 00000258 0018 c00e c00e 00000001 00000002 00000003 00000004 0000012c", "0 s, 0 1 0"},
		"an alias to nothing":     {"0001 0001 0000", "c00c 0005 0001 00000078 0004 0162 c00e" + recordSOA, "120 s, 1 1 0"},
		"an alias out of order":   {"0002 0000 0000", "'b.example' 0001 0001 0000003c 0004 c0000201 c00c 0005 0001 0000000a 0004 0162 c00e", "10 s, 2 0 0"},
		"an OPT":                  {"0001 0000 0001", recordA + "00 0029 04d0 00008000 0000", "60 s, 1 0 0"},
		"an OPT that is not last": {"0001 0000 0003", recordA + recordA + "00 0029 04d0 00008000 0000" + recordA, "60 s, 1 0 1"},
		"a TTL without meaning":   {"0001 0000 0000", "c00c 0001 0001 ffffffff 0004 c0000201", "0 s, 1 0 0"},
		"bytes behind the end":    {"0001 0000 0000", recordA + "deadbeef", "60 s, 1 0 0"},
		"a type nobody knows":     {"0001 0000 0000", "c00c ff00 0001 0000003c 0003 c0c0c0", "0 s, 1 0 0"},
		"DNAME and its signature": {
			"0003 0000 0000",
			"'example' 0027 0001 0000003c 0003 016f 00 'example' 002e 0001 0000003c 0000 c00c 0005 0001 0000003c 0005 0171 016f 00", "0 s, 3 0 0",
		},
		"an owner in a TTL":        {"0001 0000 0001", "c00c 0010 0001 00000178 0001 00 c021 0001 0001 0000003c 0004 c0000201", "lies"},
		"an owner over its TTL":    {"0001 0000 0001", "c00c 0010 0001 0000003c 0001 10 c027 0010 0001 0000003c 0005 c000020100", "lies"},
		"another's address":        {"0002 0000 0000", recordA + "'bank.example' 0001 0001 0000003c 0004 c0000201", "lies"},
		"another's alias":          {"0002 0000 0000", recordA + "'bank.example' 0005 0001 0000003c 0002 c00c", "lies"},
		"a DNAME beside":           {"0002 0000 0000", recordA + "'bank.example' 0027 0001 0000003c 0002 c00c", "lies"},
		"an alias of itself":       {"0001 0000 0000", "c00c 0005 0001 0000003c 0002 c00c", "lies"},
		"two aliases in a circle":  {"0002 0000 0000", "c00c 0005 0001 0000003c 0004 0162 c00e 'b.example' 0005 0001 0000003c 0002 c00c", "lies"},
		"more records than there":  {"0002 0000 0000", recordA, "lies"},
		"65,535 records":           {"ffff ffff ffff", recordA, "lies"},
		"data beyond the end":      {"0001 0000 0000", "c00c 0001 0001 0000003c ffff c0000201", "lies"},
		"a short address":          {"0001 0000 0000", "c00c 0001 0001 0000003c 0003 c00002", "lies"},
		"a long address":           {"0001 0000 0000", "c00c 001c 0001 0000003c 0011 " + strings.Repeat("00", 17), "lies"},
		"an owner that is a loop":  {"0001 0000 0000", "c01b 0001 0001 0000003c 0004 c0000201", "lies"},
		"an owner ahead":           {"0001 0000 0000", "c01d 0161 00 0001 0001 0000003c 0004 c0000201", "lies"},
		"two pointers in a circle": {"0001 0000 0000", "c01d c01b 0001 0001 0000003c 0004 c0000201", "lies"},
		"a loop behind a label":    {"0001 0000 0000", "0161 c01b 0001 0001 0000003c 0004 c0000201", "lies"},
		"an owner of 256 bytes":    {"0001 0000 0000", strings.Repeat("01 61 ", 128) + "00 0001 0001 0000003c 0004 c0000201", "lies"},
		"a loop in an alias":       {"0001 0000 0000", "c00c 0005 0001 0000003c 0002 c027", "lies"},
		"a loop in a mail server":  {"0001 0000 0000", "c00c 000f 0001 0000003c 0004 0001 c029", "lies"},
		"a loop in a NAPTR":        {"0001 0000 0000", "c00c 0023 0001 0000003c 0009 0001 0001 00 00 00 c02e", "lies"},
		"strings beyond a NAPTR":   {"0001 0000 0000", "c00c 0023 0001 0000003c 0005 0001 0001 ff", "lies"},
		"a name beyond its record": {"0001 0000 0000", "c00c 0005 0001 0000003c 0001 0161 00", "lies"},
		"bytes behind an alias":    {"0001 0000 0000", "c00c 0005 0001 0000003c 0005 0162 c00e 00", "lies"},
		"a SOA without numbers":    {"0000 0001 0000", "c00e 0006 0001 00000258 0004 c00e c00e", "lies"},
		"class CHAOS":              {"0001 0000 0000", "c00c 0001 0003 0000003c 0004 c0000201", "lies"},
		"type ANY":                 {"0001 0000 0000", "c00c 00ff 0001 0000003c 0004 c0000201", "lies"},
		"an OPT as answer":         {"0001 0000 0000", "00 0029 04d0 00008000 0000", "lies"},
		"an OPT with a name":       {"0000 0000 0001", "c00c 0029 04d0 00008000 0000", "lies"},
		"two OPTs":                 {"0000 0000 0002", "00 0029 04d0 00008000 0000 00 0029 04d0 00008000 0000", "lies"},
	} {
		msg := replyTo(t, c.counts, c.records)
		before := bytes.Clone(msg)
		r, err := check(msg, []byte("\x01q\x07example\x00"), dns.TypeA)
		got := "lies"
		if err == nil {
			n := r.wire[6:]
			got = fmt.Sprintf("%d s, %d %d %d", r.ttl, n[1], n[3], n[5])
			var b builder
			q := query{question: msg[12:27], size: maxUDP}
			tell(t, b.replay(&q, r.wire, 1, maxTCP)) // whatever is passed on can be read
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, c.want)
		}
		if !bytes.Equal(msg, before) {
			t.Errorf("%s: the message was changed", name)
		}
	}
}

func TestAChainOfAliasesHasAnEnd(t *testing.T) {
	t.Parallel()
	for n, good := range map[int]bool{1: true, maxChain: true, maxChain + 1: false, 1000: false} {
		m := new(dns.Msg)
		m.SetQuestion("q.example.", dns.TypeA)
		m.Response = true
		at := "q.example."
		for i := range n {
			next := fmt.Sprintf("n%d.example.", i)
			m.Answer = append(m.Answer, rr(t, at+" 60 IN CNAME "+next))
			at = next
		}
		_, err := check(packed(t, m), []byte("\x01q\x07example\x00"), dns.TypeA)
		if (err == nil) != good {
			t.Errorf("%d aliases: %v", n, err)
		}
	}
}
