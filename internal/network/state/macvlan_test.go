package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

var allMacv = Scope{All: true, Pattern: func(n string) bool { return strings.HasPrefix(n, "macv") }}

// lowerNS is a namespace with links that are not ours: lo0 and lo1, one of them down.
func lowerNS(t *testing.T) *hosttest.NS {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link low?", "link far?")
	ns.Shell(`ip link add low0 address 02:00:00:00:00:01 type veth peer name far0 address 02:00:00:00:00:03
		ip link add low1 address 02:00:00:00:00:02 type veth peer name far1 address 02:00:00:00:00:04; ip link set low1 up`)
	return ns
}

// onLower is a guest with macvtaps, and what the host has beside them.
func onLower(n int) State {
	low := fmt.Sprint("low", n%2)
	s := State{
		Macvlans: map[string]Macvlan{
			fmt.Sprint("macvlan", n): {Owner: "host-" + low, Lower: low, Mode: host.MacvlanBridge, MAC: fmt.Sprintf("02:00:00:00:01:%02x", n), Addresses: prefixes(fmt.Sprintf("10.0.%d.1/24", n)), NoIPv6: true, Up: true},
		},
		Lowers: map[string]Lower{low: {Up: true}},
	}
	for i := range n {
		s.Macvlans[fmt.Sprintf("macvtap%d", 10*n+i)] = Macvlan{
			Owner: fmt.Sprint("guest-", n), Lower: low, Tap: true, Mode: []host.MacvlanMode{host.MacvlanBridge, host.MacvlanVEPA, host.MacvlanPrivate}[i%3],
			MAC: fmt.Sprintf("52:54:00:00:%02x:%02x", n, i), MTU: 1500 - 10*i, NoIPv6: i%2 == 0, AllMulticast: true, Up: true, Queues: 1 + i%2,
		}
	}
	return s
}

// settleMacvlans sets and then makes sure that nothing is left to do.
func settleMacvlans(e *Env, want State) error {
	scope := allMacv
	scope.Lowers, scope.Told = want.Scope().Lowers, want.Scope().Told
	if _, err := set(e, scope, want); err != nil {
		return err
	}
	for _, s := range []Scope{scope, want.Scope()} {
		if p, err := set(e, s, want); err != nil || len(p) != 0 {
			return errors.Join(fmt.Errorf("a second Set (all: %v) would still run:\n%s", s.All, p), err)
		}
	}
	return nil
}

// noMacvlans checks that nothing of ours is left.
func noMacvlans(t *testing.T, e *Env) {
	t.Helper()
	if err := errors.Join(settleMacvlans(e, State{}), e.CloseTaps()); err != nil {
		t.Error(err)
	}
}

func TestASecondSetOfMacvtapsPlansNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(lowerNS(t))
	for _, want := range []State{onLower(3), onLower(2).Merge(onLower(3)), {}} {
		if err := settleMacvlans(e, want); err != nil {
			t.Fatal(err)
		}
		if len(e.Taps) != len(want.Macvlans)-len(want.Lowers) { // the others are the host's
			t.Errorf("descriptors of %d macvtaps, want those of %d and %d of the host's", len(e.Taps), len(want.Macvlans), len(want.Lowers))
		}
	}
	noMacvlans(t, e)
}

func TestAnyWalkBetweenMacvtapsConverges(t *testing.T) {
	t.Parallel()
	e := newEnv(lowerNS(t))
	some := rapid.Custom(func(t *rapid.T) State {
		want := State{}
		for n := range 4 {
			if !rapid.Bool().Draw(t, "present") {
				continue
			}
			one := onLower(n)
			for name, m := range one.Macvlans {
				m.Mode = rapid.SampledFrom([]host.MacvlanMode{host.MacvlanBridge, host.MacvlanVEPA, host.MacvlanPrivate}).Draw(t, "mode")
				m.Lower = rapid.SampledFrom([]string{"low0", "low1"}).Draw(t, "lower")
				m.NoIPv6 = m.NoIPv6 || rapid.Bool().Draw(t, "no IPv6")
				if m.Tap && rapid.Bool().Draw(t, "told") {
					m.Told, m.AllMulticast, m.Promiscuous = true, rapid.Bool().Draw(t, "every group"), rapid.Bool().Draw(t, "every frame")
					m.Hears = rapid.SampledFrom([]string{"", groupA, groupB, groupA + " " + groupB, "33:33:00:00:00:01 " + groupB}).Draw(t, "groups")
				}
				if !m.Tap {
					m.Addresses = prefixes(rapid.SampledFrom([]string{"192.0.2.1/24", "192.0.2.2/24", "198.51.100.1/24"}).Draw(t, "address"))
				}
				one.Macvlans[name] = m
			}
			want = want.Merge(one)
		}
		return want
	})
	const steps = 25
	first := int(time.Now().UnixNano() & 0xffffff)
	for seed := first; seed < first+steps; seed++ {
		if err := settleMacvlans(e, some.Example(seed)); err != nil {
			t.Fatalf("walking from seed %d, at %d: %v", first, seed, err)
		}
	}
	noMacvlans(t, e)
}

func TestMacvtapsHalfMadeAnywhereAreRolledBackByTheSameDiff(t *testing.T) {
	t.Parallel()
	ns := lowerNS(t)
	type stop struct{}
	for at := 0; ; at += stride() {
		e := newEnv(ns)
		n, cut := 0, false
		half := *e
		half.Kernel = ns.KernelWith(func(string) {
			if n++; n > at {
				cut = true
				panic(stop{})
			}
		})
		func() {
			defer func() {
				if p := recover(); p != nil && p != (stop{}) {
					panic(p)
				}
			}()
			if _, err := set(&half, onLower(2).Scope(), onLower(2)); err != nil {
				t.Error(err)
			}
		}()
		half.Kernel.Close()
		if err := half.CloseTaps(); err != nil {
			t.Error(err)
		}
		noMacvlans(t, e)
		if !cut { // the plan went through: every call was cut once
			if at < 15 {
				t.Errorf("only %d calls", at)
			}
			return
		}
	}
}

func TestMacvtapsOfOthersAreNeverTouched(t *testing.T) {
	t.Parallel()
	ns := lowerNS(t)
	ns.Keep("link macv*")
	e := newEnv(ns)
	ns.Shell(`ip link add link low1 name macvtap20 type macvtap mode bridge
		ip link add link low1 name macvtap21 type macvtap mode bridge; ip link set macvtap21 group 29793 alias somebody
		ip link add link low1 name macvlan9 type macvlan mode bridge; ip link set macvlan9 alias taproom:guest-1`)
	before := ns.Run("ip", "-d", "link", "show")
	if err := settleMacvlans(e, State{}); err != nil {
		t.Error(err)
	}
	if _, err := set(e, onLower(2).Scope(), onLower(2)); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "macvtap20") {
		t.Errorf("got %v, want ErrForeign naming macvtap20", err)
	}
	if d := cmp.Diff(before, ns.Run("ip", "-d", "link", "show")); d != "" {
		t.Errorf("links changed:\n%s", d)
	}
}

func TestAPassthroughMacvtapLendsItsAddressToItsLowerLink(t *testing.T) {
	t.Parallel()
	ns := lowerNS(t)
	e := newEnv(ns)
	const own, guests = "02:00:00:00:00:02", "52:54:00:00:00:07"
	want := State{
		Macvlans: map[string]Macvlan{"macvtap0": {Owner: "guest-0", Lower: "low1", Tap: true, Mode: host.MacvlanPassthrough, MAC: guests, NoIPv6: true, Up: true}},
		Lowers:   map[string]Lower{"low1": {Up: true}},
	}
	mac := func(want string) {
		t.Helper()
		if l, err := e.Kernel.LinkByName("low1"); l.MAC != want {
			t.Errorf("low1 has %s (%v), want %s", l.MAC, err, want)
		}
	}
	if err := settleMacvlans(e, want); err != nil {
		t.Fatal(err)
	}
	mac(guests)
	noMacvlans(t, e)
	mac(own) // this kernel gives it back by itself
	back := State{Lowers: map[string]Lower{"low1": {MAC: own, Lent: guests}}}
	ns.Run("ip", "link", "set", "dev", "low1", "address", guests) // as one that does not leaves it
	if err := settleMacvlans(e, back); err != nil {
		t.Error(err)
	}
	mac(own)
	const others = "02:00:00:00:00:77"
	ns.Run("ip", "link", "set", "dev", "low1", "address", others)
	if err := settleMacvlans(e, back); err != nil {
		t.Error(err)
	}
	mac(others) // it is not what was lent
}

func TestThePrintedPlanOfMacvtapsDoesWhatApplyDoes(t *testing.T) {
	t.Parallel()
	applied, typed := lowerNS(t), lowerNS(t)
	e := newEnv(applied)
	dump := func(ns *hosttest.NS) string {
		out := ns.Shell("ip -d link show | sed 's/bcqueuelen.*//'; ip -4 address show; for i in /proc/sys/net/ipv6/conf/m*; do echo $i; cat $i/disable_ipv6 || true; done 2>/dev/null")
		return volatile.ReplaceAllString(out, "")
	}
	mixed := onLower(2).Merge(onLower(3))
	pass := State{Macvlans: map[string]Macvlan{"macvtap0": {Owner: "g", Lower: "low0", Tap: true, Mode: host.MacvlanPassthrough, MAC: "52:54:00:00:00:07", NoIPv6: true, Up: true}}, Lowers: map[string]Lower{"low0": {Up: true}}}
	edited := mixed.Clone()
	for name, m := range edited.Macvlans {
		if m.Mode == host.MacvlanBridge {
			m.Mode, m.MTU = host.MacvlanVEPA, 1400
		}
		m.Owner += "-other" // all are made anew
		edited.Macvlans[name] = m
	}
	for i, want := range []State{mixed, edited, {}, pass, {}} {
		scope := allMacv
		scope.Lowers = want.Scope().Lowers
		p, err := set(e, scope, want)
		if err != nil {
			t.Fatal(err)
		}
		typed.Shell(p.String())
		if d := cmp.Diff(strings.Fields(dump(applied)), strings.Fields(dump(typed))); d != "" {
			t.Errorf("state %d, applied (-) and typed (+) differ:\n%s\nthe plan was:\n%s", i, d, p)
		}
	}
	noMacvlans(t, e)
}
