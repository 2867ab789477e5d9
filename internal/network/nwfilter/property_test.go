package nwfilter

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/spec"
)

// anyValue draws a value of an attribute, and sometimes one that is none.
func anyValue(t *rapid.T, a *attribute) string {
	if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{"", "$LIST", "$LIST[@1]", "$ONE[0]", "$ONE", "x", "0", "-1", "0x", "$"}).Draw(t, "value")
	}
	octets := func(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "octets") }
	switch a.kind {
	case kindMAC:
		b := octets(6)
		return fmt.Sprintf("%x:%x:%x:%x:%x:%x", b[0], b[1], b[2], b[3], b[4], b[5])
	case kindMACMask:
		return rapid.SampledFrom([]string{"ff:ff:ff:00:00:00", "ff:ff:ff:ff:ff:fe", "00:00:00:00:00:00"}).Draw(t, "mask")
	case kindIPv4:
		b := octets(4)
		return fmt.Sprintf("%d.%d.%d.%d", b[0]&1, b[1]&1, b[2]&1, b[3])
	case kindIPv4Mask:
		return fmt.Sprint(rapid.IntRange(0, 33).Draw(t, "prefix"))
	case kindIPv6:
		b := octets(2)
		return fmt.Sprintf("fe80::%x:%x", b[0], b[1])
	case kindIPv6Mask:
		return fmt.Sprint(rapid.IntRange(0, 129).Draw(t, "prefix"))
	case kindNumber:
		return fmt.Sprint(rapid.Uint64Range(a.least, a.most).Draw(t, "number"))
	case kindTCPFlags:
		return rapid.SampledFrom([]string{"SYN,ACK/SYN", "ALL/NONE", "FIN/FIN", "SYN/ACK"}).Draw(t, "flags")
	case kindBool:
		return rapid.SampledFrom([]string{"true", "no"}).Draw(t, "bool")
	case kindState:
		return rapid.SampledFrom([]string{"NEW", "ESTABLISHED,RELATED", "NONE", "INVALID"}).Draw(t, "state")
	case kindSetName:
		return "set"
	case kindSetFlags:
		return rapid.SampledFrom([]string{"src", "src,dst"}).Draw(t, "dimensions")
	}
	return rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "text")
}

func attr(name, value string) xml.Attr {
	return xml.Attr{Name: xml.Name{Local: name}, Value: value}
}

// anyRule draws a rule; most are right.
func anyRule(t *rapid.T) *spec.FilterRule {
	r := &spec.FilterRule{
		Action:     rapid.SampledFrom([]string{"accept", "drop", "reject", "return", "continue"}).Draw(t, "action"),
		Direction:  rapid.SampledFrom([]string{"in", "out", "inout"}).Draw(t, "direction"),
		Priority:   rapid.SampledFrom([]string{"", "-1000", "-600", "0", "1000"}).Draw(t, "priority"),
		StateMatch: rapid.SampledFrom([]string{"", "", "0", "true"}).Draw(t, "statematch"),
	}
	p := rapid.SampledFrom(Protocols()).Draw(t, "protocol")
	known := attributesOf(p)
	for range rapid.IntRange(0, 2).Draw(t, "elements") {
		e := spec.Element{XMLName: xml.Name{Local: string(p)}}
		if rapid.IntRange(0, 2).Draw(t, "not") == 0 {
			e.Attrs = append(e.Attrs, attr("match", "no"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "attributes") {
			a := &known[rapid.IntRange(0, len(known)-1).Draw(t, "attribute")]
			if !slices.ContainsFunc(e.Attrs, func(x xml.Attr) bool { return x.Name.Local == a.name }) { // XML has no two of a name
				e.Attrs = append(e.Attrs, attr(a.name, anyValue(t, a)))
			}
		}
		r.Protocols = append(r.Protocols, e)
	}
	return r
}

// anySet draws a filter t and one that it refers to.
func anySet(t *rapid.T) Set {
	below := &spec.Filter{Name: "below", Chain: rapid.SampledFrom([]string{"", "root", "arp", "ipv4-x", "mac"}).Draw(t, "chain")}
	top := &spec.Filter{Name: "t", Entries: []spec.FilterEntry{{Ref: &spec.FilterRef{Filter: "below", Params: []spec.FilterParam{{Name: "LIST", Value: "7"}}}}}}
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		f := rapid.SampledFrom([]*spec.Filter{below, top}).Draw(t, "filter")
		f.Entries = append(f.Entries, spec.FilterEntry{Rule: anyRule(t)})
	}
	return Set{"t": top, "below": below}
}

// anyFrame draws a frame that rules may be about.
func anyFrame(t *rapid.T) []byte {
	start := rapid.SampledFrom([]string{
		"525400000001525400000002", "0180c2000000525400000001", "ffffffffffff525400000001",
	}).Draw(t, "addresses")
	rest := rapid.SampledFrom([]string{
		"0800 4500002c000000004006000000000001 00010002", "0800 4600002c000020004011000000000001 00010002 00000000", "0806 0001 0800 0604 0001 525400000001 00000001",
		"86dd 600000000014 2c40 fe800000000000000000000000000001 fe800000000000000000000000000002 06000000", "86dd 600000000014 0040 fe800000000000000000000000000001 fe800000000000000000000000000002 3a00",
		"8100 0005 0800", "8035 0001", "0026 42420300000000", "0000",
	}).Draw(t, "rest")
	b := append(octets(t, start), octets(t, rest)...)
	b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "tail")...)
	if rapid.Bool().Draw(t, "right lengths") {
		return sized(b)
	}
	return b
}

func TestWhateverIsCompiledTheDocumentKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := anySet(t)
		p := Params{"ONE": {"1"}, "LIST": {"5", "6"}}
		again := Set{}
		for name, f := range set {
			g, err := spec.ParseFilter(f.Format())
			if err != nil {
				t.Fatalf("%v\n%s", err, f.Format())
			}
			if !bytes.Equal(g.Format(), f.Format()) {
				t.Fatalf("not the same again:\n%s\n%s", f.Format(), g.Format())
			}
			again[name] = g
		}
		a, va, err := Compile(set, "t", p)
		b, vb, err2 := Compile(again, "t", p)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("compiled: %v, after a round through text: %v", err, err2)
		}
		if err != nil {
			return
		}
		if err := Check(set["t"]); err != nil {
			t.Fatalf("it compiles, and Check says %v", err)
		}
		if a.Key != b.Key || va.Hash() != vb.Hash() {
			t.Fatalf("programs differ:\n%s\n%s", a, b)
		}
		holds(t, a, va)
		frame, flow := anyFrame(t), Flow{State: 1 << rapid.IntRange(0, 3).Draw(t, "state"), Reply: rapid.Bool().Draw(t, "reply"), Sets: map[string]bool{"set": rapid.Bool().Draw(t, "member")}}
		for _, d := range []Direction{Out, In} {
			x, err := Simulate(a, va, d, frame, flow)
			if err != nil {
				t.Fatal(err)
			}
			if x.Rule == nil && x.Verdict != Accept || x.Verdict == Reject && x.Layer != PacketLayer || len(x.Path) == 0 {
				t.Fatalf("verdict %v by %v at %v after %d steps", x.Verdict, x.Rule, x.Layer, len(x.Path))
			}
		}
	})
}

// holds checks what Program promises to those who carry it out.
func holds(t *rapid.T, p *Program, v Values) {
	slots := map[SlotName]int{}
	for _, s := range p.Slots {
		slots[s.Name] = s.Width
	}
	if len(slots) != len(v) {
		t.Fatalf("%d slots, values for %d", len(slots), len(v))
	}
	all := p.Packet
	for _, c := range p.Chains {
		all = append(all[:len(all):len(all)], c.Rules...)
	}
	for i := range all {
		for _, m := range all[i].Matches {
			w := m.Field.Width()
			switch {
			case m.Slot != "" && (slots[m.Slot] != w || m.Value != nil || m.Mask != nil || m.High != nil || len(v[m.Slot]) == 0 || m.Not && len(v[m.Slot]) != 1):
				t.Fatalf("%s: slot with %d values of %d octets", all[i].String(), len(v[m.Slot]), slots[m.Slot])
			case m.Slot == "" && (len(m.Value) != w || m.Mask != nil && len(m.Mask) != w || m.High != nil && (len(m.High) != w || m.Mask != nil || bytes.Compare(m.Value, m.High) > 0)):
				t.Fatalf("%s: a value that is no value", all[i].String())
			}
			for j := range m.Mask {
				if m.Value[j]&^m.Mask[j] != 0 {
					t.Fatalf("%s: bits outside of the mask", all[i].String())
				}
			}
		}
	}
}

func TestAnOpenListIsWhatWritingItOutWouldBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ports := rapid.SliceOfN(rapid.Uint16Range(1, 6), 1, 4).Draw(t, "ports")
		var values []string
		for _, p := range ports {
			values = append(values, fmt.Sprint(p))
		}
		action := rapid.SampledFrom([]string{"accept", "drop"}).Draw(t, "action")
		doc := func(value string) string {
			return "<rule action='" + action + "' direction='in' statematch='0'><udp dstportstart='" + value + "'/></rule>"
		}
		open, v := compiled(t, rules(t, doc("$P")+doc("9")), "t", Params{"P": values})
		written := ""
		for _, p := range values {
			written += doc(p)
		}
		out, none := compiled(t, rules(t, written+doc("9")), "t", nil)
		frame := octets(t, "525400000001 525400000002 0800 4500001c00000000 4011 0000 0a000001 0a000002 0001 0000 0008 0000")
		frame[37] = rapid.ByteRange(0, 7).Draw(t, "port")
		a, err := Simulate(open, v, In, frame, Flow{})
		b, err2 := Simulate(out, none, In, frame, Flow{})
		if err != nil || err2 != nil || a.Verdict != b.Verdict || (a.Rule == nil) != (b.Rule == nil) {
			t.Fatalf("open: %v %v, written out: %v %v", a.Verdict, err, b.Verdict, err2)
		}
	})
}

// FuzzSimulate judges frames that strangers made.
func FuzzSimulate(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add(octets(f, guest+peer+ipv4+tcp), true)
	f.Add(octets(f, guest+peer+arp), false)
	f.Add(octets(f, "0180c2000000"+guest+"0026 424203 0000 00 00 01 8000"), true)
	f.Add(octets(f, guest+peer+"86dd 60000000 0014 00 40"+"fe800000000000000000000000000001 ff020000000000000000000000000002 2c00000000000000 06000008"), false)
	inner := ""
	for _, p := range Protocols() {
		for _, a := range attributesOf(p) {
			if p == "stp" && a.name == "srcmacaddr" {
				continue
			}
			if a.role == roleValue && a.name != "srcportstart" && a.name != "dstportstart" && (a.name != "type" && a.name != "code" || p != "ipv6") && a.name != "code" {
				value := map[kind]string{kindMAC: "52:54:00:00:00:01", kindIPv4: "10.0.0.1", kindIPv6: "fe80::1", kindNumber: fmt.Sprint(a.least), kindBool: "1", kindTCPFlags: "SYN/SYN"}[a.kind]
				inner += fmt.Sprintf("<rule action='continue' direction='inout' statematch='0'><%s %s='%s'/></rule><rule action='continue' direction='inout'><%s match='no' %s='%s'/></rule>",
					p, a.name, value, p, a.name, value)
			}
		}
	}
	p, v := compiled(f, rules(f, inner), "t", nil)
	f.Fuzz(func(t *testing.T, frame []byte, in bool) {
		d := Out
		if in {
			d = In
		}
		x, err := Simulate(p, v, d, frame, Flow{})
		if (err != nil) != (len(frame) < 14) {
			t.Errorf("%d octets: %v", len(frame), err)
		}
		if err == nil && x.Verdict != Accept {
			t.Errorf("a filter of rules that only count gives %v", x.Verdict)
		}
	})
}
