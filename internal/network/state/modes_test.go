package state

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// segment is a link with macvtaps whose other end is a port of a bridge, with a tap beside it that stands for the rest.
type segment struct {
	t   *testing.T
	e   *Env
	ns  *hosttest.NS
	out *host.Tap
}

const outsideMAC = "52:54:00:00:00:ff"

func newSegment(t *testing.T, mode host.MacvlanMode, hairpin bool, taps int) *segment {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link low1", "link far1", "link sw")
	ns.Shell(fmt.Sprintf(`echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 # no frames of the kernel's own
		ip link add sw type bridge mcast_snooping 0; ip link set sw up
		ip link add low1 type veth peer name far1; ip link set far1 master sw; ip link set low1 up; ip link set far1 up
		echo %d >/sys/class/net/far1/brport/hairpin_mode`, map[bool]int{true: 1}[hairpin]))
	g := &segment{t: t, ns: ns, e: newEnv(ns)}
	var err error
	if g.out, err = g.e.Kernel.CreateTap(host.TapSpec{Name: "out", VNetHdr: true}); err != nil {
		t.Fatal(err)
	}
	ns.Run("ip", "link", "set", "dev", "out", "master", "sw", "up")
	want := State{Macvlans: map[string]Macvlan{}}
	for i := range taps {
		want.Macvlans[fmt.Sprint("macvtap", i)] = Macvlan{Owner: "guest", Lower: "low1", Tap: true, Mode: mode, MAC: guestMAC(i), NoIPv6: true, AllMulticast: true, Up: true}
	}
	if err := settleMacvlans(g.e, want); err != nil {
		t.Fatal(err)
	}
	for i := range taps { // a link that has just come up may have no queue yet, a port of the bridge may not forward
		g.meet(g.tap(i), guestMAC(i), g.out)
		g.meet(g.out, outsideMAC, g.tap(i))
	}
	return g
}

const hello = "hello"

// meet sends until something arrives.
func (g *segment) meet(from *host.Tap, mac string, to *host.Tap) {
	g.t.Helper()
	for limit := time.Now().Add(time.Minute); ; {
		g.send(from, mac, everybody, hello)
		if err := to.Files[0].SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			g.t.Fatal(err)
		}
		_, err := to.Files[0].Read(make([]byte, 2048))
		if err == nil {
			return
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(limit) {
			g.t.Fatalf("nothing gets from %s to %s: %v", from.Name, to.Name, err)
		}
	}
}

func guestMAC(i int) string { return fmt.Sprintf("52:54:00:00:00:%02x", i) }

func (g *segment) close() {
	g.t.Helper()
	noMacvlans(g.t, g.e)
	if err := errors.Join(g.e.Kernel.DeleteLink(g.out.Index), g.out.Close()); err != nil {
		g.t.Error(err)
	}
}

func (g *segment) tap(i int) *host.Tap { return g.e.Taps[fmt.Sprint("macvtap", i)] }

// frame is one with a text of its own.
func frame(from, to, text string) []byte {
	mac := func(s string) []byte {
		var b [6]byte
		_, _ = fmt.Sscanf(s, "%02x:%02x:%02x:%02x:%02x:%02x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5])
		return b[:]
	}
	b := slices.Concat(make([]byte, 10), mac(to), mac(from), []byte{0x88, 0xb5}, []byte(text))
	return append(b, make([]byte, 70-len(b))...)
}

func (g *segment) send(from *host.Tap, mac, to, text string) {
	g.t.Helper()
	if _, err := from.Files[0].Write(frame(mac, to, text)); err != nil {
		g.t.Fatal(err)
	}
}

// got reads what arrives until each of the last texts did, and returns the others, sorted.
func (g *segment) got(at *host.Tap, last ...string) []string {
	g.t.Helper()
	var out []string
	f := at.Files[0]
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		g.t.Fatal(err)
	}
	b := make([]byte, 2048)
	for len(last) > 0 {
		n, err := f.Read(b)
		if err != nil {
			g.t.Fatalf("%s waits for %q: %v", at.Name, last, err)
		}
		if n < 24 {
			g.t.Fatalf("%s got %d bytes", at.Name, n)
		}
		text := unix.ByteSliceToString(b[24:n])
		if i := slices.Index(last, text); i >= 0 {
			last = slices.Delete(last, i, i+1)
		} else if text != hello {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

const everybody = "ff:ff:ff:ff:ff:ff"

func TestTheModesOfMacvtapsIsolateAsTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode    host.MacvlanMode
		hairpin bool
		other   []string // what the second macvtap gets of the first one's frames
		own     []string // what the first gets of them
	}{
		{host.MacvlanBridge, false, []string{"to all", "to one"}, nil},
		{host.MacvlanBridge, true, []string{"to all", "to one"}, nil}, // and not twice
		{host.MacvlanVEPA, false, nil, nil},
		{host.MacvlanVEPA, true, []string{"to all", "to one"}, nil},
		{host.MacvlanPrivate, false, nil, nil},
		// Of what a switch reflects the kernel keeps from the others what is for all, and so their learning of addresses;
		// not what is for one of them by its address (macvlan_handle_frame).
		{host.MacvlanPrivate, true, []string{"to one"}, []string{"to all"}},
	} {
		t.Run(fmt.Sprintf("%s, a switch that reflects: %v", c.mode, c.hairpin), func(t *testing.T) {
			t.Parallel()
			g := newSegment(t, c.mode, c.hairpin, 2)
			defer g.close()
			g.send(g.tap(0), guestMAC(0), everybody, "to all")
			g.send(g.tap(0), guestMAC(0), guestMAC(1), "to one")
			g.send(g.tap(0), guestMAC(0), outsideMAC, "to the rest")
			outside := g.got(g.out, "to all", "to the rest") // each leaves its link in every mode
			if slices.Contains(outside, "to one") && c.mode == host.MacvlanBridge {
				t.Errorf("what is for the other macvtap left the link: %q", outside)
			}
			g.send(g.out, outsideMAC, everybody, "last to all")
			g.send(g.out, outsideMAC, guestMAC(1), "last to one")
			g.send(g.out, outsideMAC, guestMAC(0), "last to the first")
			if got := g.got(g.tap(1), "last to all", "last to one"); !slices.Equal(got, c.other) {
				t.Errorf("the second macvtap got %q of the first, want %q", got, c.other)
			}
			if got := g.got(g.tap(0), "last to all", "last to the first"); !slices.Equal(got, c.own) {
				t.Errorf("the first macvtap got of its own %q, want %q", got, c.own)
			}
		})
	}
}

func TestAPassthroughMacvtapIsAloneAndGetsEverything(t *testing.T) {
	t.Parallel()
	g := newSegment(t, host.MacvlanPassthrough, true, 1)
	defer g.close()
	second := State{Macvlans: map[string]Macvlan{"macvtap9": {Owner: "other", Lower: "low1", Tap: true, Mode: host.MacvlanBridge, MAC: guestMAC(9), Up: true}}}
	if _, err := set(g.e, second.Scope(), second); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a second macvtap: %v, want EINVAL", err)
	}
	g.send(g.tap(0), guestMAC(0), outsideMAC, "to the rest")
	g.send(g.tap(0), guestMAC(7), outsideMAC, "as another") // a bridge in the guest
	if got := g.got(g.out, "to the rest", "as another"); len(got) > 0 {
		t.Errorf("outside arrives %q", got)
	}
	g.send(g.out, outsideMAC, "01:00:5e:00:00:fb", "to a group")
	g.send(g.out, outsideMAC, "52:54:00:00:77:77", "to another")
	g.send(g.out, outsideMAC, guestMAC(0), "last")
	g.got(g.tap(0), "to a group", "to another", "last")
}
