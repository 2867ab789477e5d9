package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// failing is a step that fails, instead of what it does or after it.
type failing struct {
	Step
	after bool
}

func (f failing) Apply(ctx context.Context, r *Run) error {
	if f.after {
		if err := f.Step.Apply(ctx, r); err != nil {
			return err
		}
	}
	return errFake
}

var addrgenmode = regexp.MustCompile(`addrgenmode \S+`)

// text is all that there is, as an administrator sees it.
func text(ns *hosttest.NS, e *Env) string {
	out := ns.Shell(`ip -d link show; ip -4 address show; ip -6 address show scope global; bridge -d link show
		bridge fdb show | grep "dev macvtap.* self" | sort || true
		cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding
		cd /proc/sys/net/ipv6/conf; grep -H . */disable_ipv6
		ip route show proto 116; ip -6 route show proto 116
		for i in $(grep -l 0 */disable_ipv6); do i=${i%/*}; grep -H . $i/accept_ra $i/autoconf $i/addr_gen_mode; done`)
	out = addrgenmode.ReplaceAllString(out, "")                               // that is among the settings; without IPv6 it means nothing
	blocks := strings.Split(volatile.ReplaceAllString(out, "\x00"), "\n\x00") // in the order of their indexes, which are others now
	slices.Sort(blocks)
	fw, services := e.Firewall.(*fakeFirewall), e.Services.(*fakeServices)
	lines := slices.Collect(maps.Keys(fw.members))
	slices.SortFunc(lines, compareElements)
	s := strings.Join(blocks, "\n") + fmt.Sprintln(lines)
	for _, id := range slices.Sorted(maps.Keys(services.served)) {
		s += fmt.Sprintln(id, services.served[id].Bridge, services.served[id].Fingerprint)
	}
	return s
}

// changes are pairs of states, each before and after.
func changes() [][2]State {
	one, both := config(1), config(1).Merge(config(2))
	six := both.Clone()
	b := six.Bridges["virbr2"]
	b.NoIPv6, b.Static, b.LinkLocal, b.Addresses = false, true, prefixes("fe80::5054:ff:fe00:2/64"), append(b.Addresses, prefixes("fd00:3::1/64")...)
	six.Bridges["virbr2"] = b
	routed, rerouted := routing(), routing()
	b = rerouted.Bridges["virbr1"]
	b.Addresses = prefixes("10.8.1.1/24", "fd00:9::1/64")
	b.Routes = []host.StaticRoute{b.Routes[0], route("192.168.3.0/24", "10.8.1.7", 5), route("fd00:7::/64", "fd00:9::7", 7)}
	rerouted.Bridges["virbr1"] = b
	edited := both.Clone()
	edited.Bridges["virbr2"] = Bridge{Owner: "net-2", MAC: "52:54:00:00:00:77", Addresses: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/31")}, NoIPv6: true}
	edited.Services["net-2"] = Service{Bridge: "virbr2", Fingerprint: "another"}
	for name, p := range edited.Ports {
		p.Master, p.Isolated, p.MTU, p.Up = "virbr1", !p.Isolated, 1400, !p.Up
		if name == "vnet21" {
			p.Master = ""
		}
		edited.Ports[name] = p
	}
	loud := one.Clone()
	for name, p := range loud.Ports {
		p.Coalesce = 8
		loud.Ports[name] = p
	}
	lower, moved := onLower(1).Merge(onLower(2)), onLower(1).Merge(onLower(2))
	for name, m := range moved.Macvlans {
		m.Mode = host.MacvlanVEPA
		if m.MTU != 0 { // 0 is any
			m.MTU -= 200
		}
		moved.Macvlans[name] = m
	}
	forwards := State{Sysctls: map[string]string{"net/ipv4/ip_forward": "1"}} // it stays
	hears := onLower(1)
	other := hears.Clone()
	for name, m := range hears.Macvlans {
		if m.Tap {
			m.Told, m.AllMulticast, m.Hears = true, false, groupA
			hears.Macvlans[name] = m
			m.Promiscuous, m.Hears = true, groupB
			other.Macvlans[name] = m
		}
	}
	return [][2]State{{hears, other}, {forwards, one}, {forwards, loud}, {both, edited}, {both, six}, {six, both}, {one, forwards}, {{}, lower}, {lower, moved}, {moved, {}}, {routed, rerouted}}
}

// stride is how many calls or steps are gone on from one that fails to the next: with -short, where the machine is emulated, some of
// them fail, on other kernels than the one on which each does.
func stride() int {
	if testing.Short() {
		return 11
	}
	return 1
}

// Whatever step of a plan fails, instead of what it does or after it: the plan stops there with its error, and the difference
// to what was before leads back to exactly that.
func TestAnyStepThatFailsIsRolledBackToWhatWasBefore(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	t.Run("changes", func(t *testing.T) { // ends when all of them have
		for i, c := range changes() {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				failEach(t, c[0], c[1], &seen)
			})
		}
	})
	want := []string{
		"AddAddress", "AddBridge", "AddMacvlan", "AddRoute", "AddShaper", "AddTap", "ChangeElements", "ChangeQueue", "DelAddress", "DelRoute", "DeleteLink", "DeletePorts", "Detach", "NoQueue",
		"OpenMacvtap", "RemoveService", "SetAddress", "SetAlias", "SetBridge", "SetCoalesce", "SetDown", "SetFence", "SetHears", "SetIsolated", "SetLink", "SetMacvlanMode", "SetManaged", "SetReceive", "SetService", "SetSysctl",
		"SetVLANs",
	}
	var got []string
	seen.Range(func(kind, _ any) bool { got = append(got, kind.(string)); return true })
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" && !testing.Short() {
		t.Errorf("kinds of steps that failed (-want +got):\n%s", d)
	}
}

// failEach has each step fail that leads from one state to another, and notes their kinds.
func failEach(t *testing.T, before, after State, seen *sync.Map) {
	ns := lowerNS(t)
	e := newEnv(ns)
	scope := before.Scope(after)
	back := func(to State) {
		t.Helper()
		if _, err := set(e, scope, to); err != nil {
			t.Fatal(err)
		}
	}
	back(before)
	was := text(ns, e)
	for n, more := 0, true; more; n += stride() {
		for _, late := range []bool{false, true} {
			o, err := Observe(t.Context(), e, scope)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := Diff(e, o, after)
			if err != nil {
				t.Fatal(err)
			}
			if more = n < len(plan); !more {
				break
			}
			step := plan[n]
			seen.Store(kindOf(step), true)
			plan[n] = failing{step, late}
			half := *e
			half.Taps = nil
			var failed *StepError
			if err := plan.Apply(t.Context(), &half); !errors.As(err, &failed) || !errors.Is(err, errFake) || failed.Step.String() != step.String() {
				t.Fatalf("step %q: the error is %v", step, err)
			}
			if err := half.CloseTaps(); err != nil {
				t.Fatal(err)
			}
			back(before)
			if d := cmp.Diff(was, text(ns, e)); d != "" {
				t.Fatalf("back from %q (-before +after):\n%s", step, d)
			}
		}
	}
	back(State{})
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
}

// kindOf is the type of a step, of those in others as well.
func kindOf(s Step) string {
	if held, ok := s.(ofHeld); ok {
		return kindOf(held.Step)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", s), "state.")
}
