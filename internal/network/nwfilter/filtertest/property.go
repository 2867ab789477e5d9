package filtertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/network/nwfilter"
)

// framesAtOnce is how many frames are sent through each random filter, in each direction.
const framesAtOnce = 40

// Agree attaches random filters, sends random frames through them both ways, and holds that the kernel and nwfilter.Simulate
// decide the same. How many it tries follows from the flag -rapid.checks.
func Agree(t *testing.T, o Options, r *Rig) {
	var elements []string
	var frames []frame
	for _, a := range attributes() {
		if o.refuses(a.element) {
			continue
		}
		elements = append(elements, a.element)
		if !a.positive {
			elements = append(elements, opposite(a.element))
		}
		frames = append(append(append(frames, a.hit...), a.miss...), a.other...)
	}
	// A draw should not depend on the order of a map.
	slices.Sort(elements)
	slices.SortFunc(frames, func(a, b frame) int { return strings.Compare(string(a.b), string(b.b)) })
	frames = slices.CompactFunc(frames, func(a, b frame) bool { return string(a.b) == string(b.b) })
	rapid.Check(t, func(rt *rapid.T) {
		docs := randomFilter(rt, elements)
		p, err := compile(nil, docs...)
		if err != nil {
			rt.Fatal(err)
		}
		if err := r.Backend.Apply(context.Background(), []nwfilter.Port{p}, nil); err != nil {
			rt.Fatalf("%v\n%s", err, docs)
		}
		var sent [][]byte
		for range framesAtOnce {
			f := randomFrame(rt, frames)
			if rapid.IntRange(0, 3).Draw(rt, "other addresses") == 0 {
				copy(f[6:12], mac(rapid.SampledFrom([]string{macA, macB, "52:54:00:12:34:56"}).Draw(rt, "source")))
			}
			sent = append(sent, f)
		}
		r.agree(rt, p, sent, docs...)
	})
}

// randomFrame draws a frame, which may have another shape and may be cut short.
func randomFrame(t *rapid.T, frames []frame) []byte {
	f := rapid.SampledFrom(frames).Draw(t, "frame").b
	if rapid.Bool().Draw(t, "other shape") {
		f = rapid.SampledFrom(shapes(f)).Draw(t, "shape")
	}
	if rapid.Bool().Draw(t, "cut short") {
		return cutShort(f, rapid.IntRange(inPacket, len(f)).Draw(t, "octets"), rapid.Bool().Draw(t, "honest"))
	}
	return slices.Clone(f)
}

// randomFilter draws rules, some of them in chains of their own.
func randomFilter(t *rapid.T, elements []string) []string {
	rule := func(element string) string {
		return fmt.Sprintf(`<rule action='%s' direction='%s' priority='%d' statematch='false'>%s</rule>`,
			rapid.SampledFrom([]string{"accept", "drop", "drop", "return", "reject", "continue"}).Draw(t, "action"),
			rapid.SampledFrom([]string{"in", "out", "inout"}).Draw(t, "direction"),
			rapid.IntRange(-1000, 1000).Draw(t, "priority"), element)
	}
	element := rapid.SampledFrom(elements)
	var inside string
	for range rapid.IntRange(1, 6).Draw(t, "rules") {
		inside += rule(element.Draw(t, "element"))
	}
	var docs []string
	for _, chain := range []string{"arp", "rarp", "ipv4", "ipv6", "mac", "vlan", "stp"} {
		if rapid.IntRange(0, 4).Draw(t, chain) != 0 {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(elements), func(e string) bool {
			name, _, _ := strings.Cut(strings.TrimPrefix(e, "<"), " ")
			return name != chain && (chain != "ipv4" || name != "ip")
		})
		var rules string
		for range rapid.IntRange(1, 3).Draw(t, "rules") {
			rules += rule(rapid.SampledFrom(of).Draw(t, "element"))
		}
		if rapid.Bool().Draw(t, "end") {
			rules += rule("")
		}
		docs = append(docs, fmt.Sprintf(`<filter name='%s' chain='%s'>%s</filter>`, chain, chain, rules))
		inside += fmt.Sprintf(`<filterref filter='%s'/>`, chain)
	}
	return append([]string{fmt.Sprintf(`<filter name='random' chain='root'>%s</filter>`, inside)}, docs...)
}
