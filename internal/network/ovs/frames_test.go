package ovs_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/ovsdb/ovstest"
	"taproom/internal/network/state"
)

// datapaths has a test on bridges of both datapaths.
func datapaths(t *testing.T, f func(t *testing.T, b *wires), bridges ...string) {
	t.Helper()
	t.Run("userspace", func(t *testing.T) {
		t.Parallel()
		f(t, &wires{bench: newBench(t, bridges...)})
	})
	t.Run("kernel", func(t *testing.T) {
		t.Parallel()
		hosttest.Needs(t, ovstest.KernelDatapath(), hosttest.Lift{Module: "openvswitch"})
		b := &wires{bench: newBench(t), header: 10}
		for _, name := range bridges {
			b.sw.SystemBridge(name)
		}
		f(t, b)
	})
}

// wires are taps seen from their guests' ends.
type wires struct {
	*bench
	header int // bytes before each frame
}

// aFrame is one of a test: which it is, between addresses that nobody has, with the VLANs of its tags.
func aFrame(id byte, from, to byte, tags ...uint16) []byte {
	f := []byte{0x52, 0x54, 0, 0, 1, to, 0x52, 0x54, 0, 0, 1, from}
	for _, v := range tags {
		f = append(f, 0x81, 0x00, byte(v>>8), byte(v))
	}
	f = append(f, 0x88, 0xb5, id) // for experiments
	return append(f, make([]byte, 60)...)
}

func (b *wires) tap(name string) *os.File {
	b.Helper()
	t := b.env.Taps[name]
	if t == nil {
		b.Fatalf("there is no tap %s", name)
	}
	return t.Files[0]
}

func (b *wires) send(name string, frame []byte) {
	b.Helper()
	if _, err := b.tap(name).Write(append(make([]byte, b.header), frame...)); err != nil {
		b.Fatal(err)
	}
}

// again is how long a frame may take before it is sent again.
const again = 5 * time.Second

// next is the next frame out of a tap that is a test's: which it is, and how it is tagged.
func (b *wires) next(name string) (id byte, tags string, err error) {
	f := b.tap(name)
	if err := f.SetReadDeadline(time.Now().Add(again)); err != nil {
		return 0, "", err
	}
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		if err != nil {
			return 0, "", err
		}
		frame := buf[min(b.header, n):n]
		var seen []string
		for at := 12; len(frame) >= at+3; at += 4 {
			switch binary.BigEndian.Uint16(frame[at:]) {
			case 0x8100:
				if len(frame) < at+4 {
					return 0, "", io.ErrUnexpectedEOF
				}
				seen = append(seen, fmt.Sprint(binary.BigEndian.Uint16(frame[at+2:])&0xfff))
				continue
			case 0x88b5:
				return frame[at+2], cmp.Or(strings.Join(seen, "+"), "untagged"), nil
			}
			break // what the kernel says by itself
		}
	}
}

// passes sends a frame for each tag (0: untagged) from one tap to another, and says how each arrives. The last one does, and
// those that want says arrive are waited for, and sent again: the kernel asks the switch about new flows, and goes on with
// others, and a switch that is busy with its bridges drops them.
func (b *wires) passes(from, to, want string, tags ...uint16) string {
	b.Helper()
	ends := []byte{1, 2}
	if from > to {
		slices.Reverse(ends)
	}
	arrived, expected := slices.Repeat([]string{"-"}, len(tags)), strings.Fields(want)
	missing := func(i int) bool {
		return arrived[i] == "-" && (i == len(tags)-1 || i < len(expected) && expected[i] != "-")
	}
	send := func(i int) {
		var t []uint16
		if tags[i] != 0 {
			t = []uint16{tags[i]}
		}
		b.send(from, aFrame(byte(i+1), ends[0], ends[1], t...))
	}
	for i := range tags {
		send(i)
	}
	for late := time.Now().Add(patient); ; {
		var left []int
		for i := range tags {
			if missing(i) {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return strings.Join(arrived, " ")
		}
		id, how, err := b.next(to)
		switch {
		case err == nil:
			arrived[id-1] = how
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(late):
			for _, i := range left {
				send(i)
			}
		default:
			b.Fatalf("from %s to %s: %v; so far %q, want %q\n%s", from, to, err, arrived, want, b.sw.Log())
		}
	}
}

// What passes between a guest with VLANs of all kinds and one on the same bridge that sees every tag. Each has a bridge of its
// own: a switch goes on for a moment with what it knows of a flow.
func TestFramesCarryTheVLANsOfTheirPorts(t *testing.T) {
	t.Parallel()
	all := []struct {
		name    string
		vlan    state.VLAN
		out, in string    // untagged, 10, 20, 30 and then what surely passes
		sure    [2]uint16 // which that is
	}{
		{"none", state.VLAN{}, "untagged 10 20 30 10", "untagged 10 20 30 10", [2]uint16{10, 10}},
		{"access", state.VLAN{Tag: []int{10}}, "10 - - - 10", "- untagged - - untagged", [2]uint16{0, 10}},
		{"trunk", state.VLAN{Trunks: []int{10, 20}}, "- 10 20 - 10", "- 10 20 - 10", [2]uint16{10, 10}},
		{"tagged", state.VLAN{Tag: []int{10}, Trunks: []int{10, 20}, Mode: "native-tagged"}, "10 10 20 - 10", "- 10 20 - 10", [2]uint16{10, 10}},
		{"untagged", state.VLAN{Tag: []int{10}, Trunks: []int{10, 20}, Mode: "native-untagged"}, "10 10 20 - 10", "- untagged 20 - untagged", [2]uint16{0, 10}},
	}
	var bridges []string
	want := state.State{}
	for i, x := range all {
		one := ports("guest-1", "br-"+x.name, 2*i, 2)
		p := one.SwitchPorts[fmt.Sprint("vnet", 2*i+1)]
		p.VLAN = &x.vlan
		one.SwitchPorts[fmt.Sprint("vnet", 2*i+1)] = p
		bridges, want = append(bridges, "br-"+x.name), want.Merge(one)
	}
	datapaths(t, func(t *testing.T, b *wires) {
		b.settle(want)
		for i, x := range all {
			far, guest := fmt.Sprint("vnet", 2*i), fmt.Sprint("vnet", 2*i+1)
			if got := b.passes(guest, far, x.out, 0, 10, 20, 30, x.sure[0]); got != x.out {
				t.Errorf("%s: from the guest untagged, 10, 20, 30 arrive as %s, want %s", x.name, got, x.out)
			}
			if got := b.passes(far, guest, x.in, 0, 10, 20, 30, x.sure[1]); got != x.in {
				t.Errorf("%s: to the guest untagged, 10, 20, 30 arrive as %s, want %s", x.name, got, x.in)
			}
		}
		b.settle(state.State{})
	}, bridges...)
}

// Another VLAN is that of the frames that come then: a switch goes on for a moment with what it knows of a flow.
func TestFramesCarryTheVLANThatAPortGotMeanwhile(t *testing.T) {
	t.Parallel()
	datapaths(t, func(t *testing.T, b *wires) {
		want := ports("guest-1", "br0", 0, 2)
		for _, tag := range []int{10, 20} {
			p := want.SwitchPorts["vnet1"]
			p.VLAN = &state.VLAN{Tag: []int{tag}}
			want.SwitchPorts["vnet1"] = p
			b.settle(want)
			got := ""
			for late := time.Now().Add(patient); got != fmt.Sprint(tag) && time.Now().Before(late); {
				got = b.passes("vnet1", "vnet0", "", 0)
			}
			if got != fmt.Sprint(tag) {
				t.Errorf("what the guest sends has the tag %s, want %d", got, tag)
			}
		}
		b.settle(state.State{})
	}, "br0")
}

// The host's own stack sees nothing of what guests send to a switch: it would answer for its addresses on every tap.
func TestTheHostDoesNotAnswerWhatGuestsSendToTheSwitch(t *testing.T) {
	t.Parallel()
	datapaths(t, func(t *testing.T, b *wires) {
		b.ns.Shell("ip link set lo up; ip address add 10.9.9.1/24 dev lo")
		want := ports("guest-1", "br0", 0, 2)
		b.settle(want)
		ask := slices.Concat(bytes.Repeat([]byte{0xff}, 6), []byte{0x52, 0x54, 0, 0, 1, 2, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1},
			[]byte{0x52, 0x54, 0, 0, 1, 2, 10, 9, 9, 2}, make([]byte, 6), []byte{10, 9, 9, 1}, make([]byte, 18))
		b.send("vnet1", ask)
		f := b.tap("vnet0") // the question itself arrives there
		if err := f.SetReadDeadline(time.Now().Add(patient)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		for n := 0; !bytes.Contains(buf[:n], ask[6:42]); {
			var err error
			if n, err = f.Read(buf); err != nil {
				t.Fatalf("the question does not arrive: %v\n%s", err, b.sw.Log())
			}
		}
		b.send("vnet0", aFrame(1, 1, 2))
		f = b.tap("vnet1")
		if err := f.SetReadDeadline(time.Now().Add(patient)); err != nil {
			t.Fatal(err)
		}
		for n := 0; !bytes.Contains(buf[:n], []byte{0x88, 0xb5, 1}); {
			var err error
			if n, err = f.Read(buf); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(buf[:n], []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 2}) {
				t.Errorf("somebody answers: % x", buf[:n])
			}
		}
		b.settle(state.State{})
		b.ns.Shell("ip address del 10.9.9.1/24 dev lo; ip link set lo down")
	}, "br0")
}

func TestThePrintedCommandsKeepATapFromTheHostToo(t *testing.T) {
	t.Parallel()
	b, other := newBench(t, "br0"), hosttest.NewNS(t)
	want := ports("guest-1", "br0", 0, 1)
	p, err := b.plan(want, want.Scope())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), b.env); err != nil {
		t.Fatal(err)
	}
	script := "ip tuntap add dev vnet0 mode tap\n"
	for _, s := range p {
		if only, ok := s.(state.NotForHost); ok {
			script += only.String() + "\n"
		}
	}
	if out, err := other.Try("sh", "-e", "-c", script); err != nil {
		t.Fatalf("%v %s\n%s", err, out, script)
	}
	for _, show := range [][]string{{"filter", "show", "dev", "vnet0", "ingress"}, {"qdisc", "show", "dev", "vnet0", "clsact"}} {
		got, want := b.ns.Run("tc", show...), other.Run("tc", show...)
		if got != want || got == "" {
			t.Errorf("tc %v shows\n%s\nand after the printed commands\n%s", show, got, want)
		}
	}
	other.Run("ip", "link", "delete", "dev", "vnet0")
	b.settle(state.State{})
}
