package state

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/qos"
)

// newEnv returns a namespace as a host, with firewall and DHCP in memory.
func newEnv(ns *hosttest.NS) *Env {
	return &Env{Kernel: ns.Kernel(), Group: testGroup, Firewall: &fakeFirewall{}, Services: &fakeServices{}}
}

var allVirbr = Scope{All: true, Pattern: func(n string) bool {
	return strings.HasPrefix(n, "virbr") || strings.HasPrefix(n, "vnet") || strings.HasPrefix(n, "shape")
}}

// set is what a caller does: observe, diff, apply.
func set(e *Env, s Scope, want State) (Plan, error) {
	o, err := Observe(context.Background(), e, s)
	if err != nil {
		return nil, err
	}
	p, err := Diff(e, o, want)
	if err != nil {
		return nil, err
	}
	return p, p.Apply(context.Background(), e)
}

// settle sets and then makes sure that nothing is left to do, looking at everything and at what is named.
func settle(e *Env, want State) error {
	scope := allVirbr
	scope.Sysctls = want.Scope().Sysctls
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

func config(n int) State {
	name, owner := fmt.Sprint("virbr", n), fmt.Sprint("net-", n)
	s := State{
		Bridges: map[string]Bridge{name: {
			Owner: owner, MAC: fmt.Sprintf("52:54:00:00:00:%02x", n), STP: n%2 == 0, Delay: 100 * n,
			Fence: host.Fence{From: n == 1, To4: n == 1, To6: n == 1}, Addresses: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.0.%d.1/24", n))}, NoIPv6: n%3 != 0, Up: true, VLANs: n%2 == 1,
		}},
		Ports:    map[string]Port{},
		Sysctls:  map[string]string{"net/ipv4/ip_forward": "1"},
		Elements: map[Element]bool{{"bridges", name}: true, {"net24", fmt.Sprintf("%s . 10.0.%d.0", name, n)}: true},
		Services: map[string]Service{owner: {Bridge: name, Fingerprint: fmt.Sprint("f", n)}},
		Shapers:  map[string]Shaper{},
		Shapes:   map[string]Shape{},
	}
	bound(&s, n, name, owner)
	for i := range n {
		s.Ports[fmt.Sprintf("vnet%d", 10*n+i)] = Port{
			Owner: fmt.Sprint("guest-", i), MAC: fmt.Sprintf("fe:54:00:00:%02x:%02x", n, i),
			Master: name, MTU: 1500 - 10*i, NoIPv6: true, Up: true, Queues: 1 + i%2, Isolated: (i+n)%2 == 0, Managed: i%2 == 0, Table: []string{fmt.Sprintf("52:54:00:00:%02x:%02x", n, i), ""}[i%2],
		}
	}
	return s
}

// bound adds what bounds the network's bridge, and its NICs in one direction, in both, or in none.
func bound(s *State, n int, bridge, owner string) {
	shaper := func(name, owner string) string {
		s.Shapers[name] = Shaper{Owner: owner, NoIPv6: true, Up: true}
		s.Shapes[name] = Shape{Queue: qos.Queue{Bucket: qos.Limit{Average: uint64(1000 * (n + 1))}.Bucket(1500)}}
		return name
	}
	whole := qos.Limit{Average: uint64(4096 * n)}
	var floors []qos.Floor
	for i := range n {
		port := fmt.Sprintf("vnet%d", 10*n+i)
		one := Shape{Queue: qos.Queue{Bucket: qos.Limit{Average: 1024, Peak: uint64(2048 + i), Burst: 512}.Bucket(1500)}}
		if n == 1 { // what its guest sends alone
			one.Queue = qos.Queue{}
		}
		if i%2 == 1 || n == 1 {
			one.Through = shaper(fmt.Sprintf("shape%d", 10*n+i), fmt.Sprint("guest-", i))
		}
		if s.Shapes[port] = one; (i+n)%3 == 2 {
			delete(s.Shapes, port)
		}
		floors = append(floors, qos.Floor{Class: uint16(16 + i), MAC: fmt.Sprintf("52:54:00:00:%02x:%02x", n, i), KiB: uint64(100 + i)})
	}
	if n%2 == 1 {
		s.Shapes[bridge] = Shape{Queue: whole.Divide(1500, floors), Through: shaper(fmt.Sprintf("shape%d", n), owner)}
	}
}

// empty checks that nothing of ours is left.
func empty(t *testing.T, e *Env) {
	t.Helper()
	if err := settle(e, State{}); err != nil {
		t.Error(err)
	}
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
}

func TestASecondSetPlansNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(hosttest.NewNS(t))
	for _, want := range []State{config(1), config(2).Merge(config(3)), {}} {
		if err := settle(e, want); err != nil {
			t.Fatal(err)
		}
	}
	empty(t, e)
}

// anyConfig draws which networks there are and how they are set.
var anyConfig = rapid.Custom(func(t *rapid.T) State {
	var want State
	for n := range 4 {
		if !rapid.Bool().Draw(t, "present") {
			continue
		}
		c, name := config(n), fmt.Sprint("virbr", n)
		b := c.Bridges[name]
		b.STP = rapid.Bool().Draw(t, "stp")
		b.Delay = rapid.SampledFrom([]int{0, 200, 1500, 9000}).Draw(t, "delay")
		b.Addresses = rapid.SampledFrom([][]netip.Prefix{
			nil, b.Addresses, prefixes("10.8.0.1/24", "10.8.0.2/24"), prefixes("10.8.0.2/24"),
			prefixes("10.8.0.2/24", "fd00::1/64"), prefixes("fd00::1/64", "fd00::2/64"),
		}).Draw(t, "addresses")
		b.NoIPv6 = !slices.ContainsFunc(b.Addresses, func(a netip.Prefix) bool { return a.Addr().Is6() }) && rapid.Bool().Draw(t, "no IPv6")
		if !b.NoIPv6 && rapid.Bool().Draw(t, "static") {
			b.Static, b.LinkLocal = true, prefixes(rapid.SampledFrom([]string{"fe80::1/64", "fe80::2/64"}).Draw(t, "link-local"))
		}
		b.Up = rapid.Bool().Draw(t, "up")
		b.Fence = rapid.SampledFrom([]host.Fence{{}, b.Fence, {To4: true}, {From: true, To6: true}}).Draw(t, "fence")
		c.Bridges[name] = b
		want = want.Merge(c)
	}
	return want
})

func prefixes(s ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range s {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func TestAnyWalkBetweenConfigurationsConverges(t *testing.T) {
	t.Parallel()
	e := newEnv(hosttest.NewNS(t))
	const steps = 25 // each costs some 20 ms for every bridge it removes
	first := int(time.Now().UnixNano() & 0xffffff)
	for seed := first; seed < first+steps; seed++ {
		want := anyConfig.Example(seed)
		if err := settle(e, want); err != nil {
			t.Fatalf("walking from seed %d, at %d: %v", first, seed, err)
		}
	}
	empty(t, e)
}

func TestAFailureAnywhereIsRolledBackByTheSameDiff(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	before, after := config(1), config(2).Merge(config(3))
	type stop struct{}
	for at := 0; ; at += stride() {
		e := newEnv(ns)
		if err := settle(e, before); err != nil {
			t.Fatal(err)
		}
		n, cut := 0, false
		k := ns.KernelWith(func(string) {
			if n++; n > at {
				cut = true
				panic(stop{})
			}
		})
		half := *e
		half.Kernel = k
		func() {
			defer func() {
				if p := recover(); p != nil && p != (stop{}) {
					panic(p)
				}
			}()
			_, err := set(&half, after.Scope(before), after)
			if err != nil {
				t.Error(err)
			}
		}()
		k.Close()
		for name, tap := range half.Taps { // the descriptors of a process that was killed are closed
			if _, ok := before.Ports[name]; !ok {
				if err := tap.Close(); err != nil {
					t.Error(err)
				}
				delete(half.Taps, name)
				closed(t, ns, name)
			}
		}
		if err := settle(e, before); err != nil {
			t.Fatalf("cut at call %d: %v", at, err)
		}
		empty(t, e)
		if !cut { // the plan went through: every call was cut once
			if at < 40 {
				t.Errorf("only %d calls", at)
			}
			return
		}
	}
}

// closed waits until a tap whose descriptors were closed has gone: a program that another test just starts may hold copies
// until it is executed.
func closed(t *testing.T, ns *hosttest.NS, name string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := ns.Kernel().LinkByName(name)
		if errors.Is(err, host.ErrNoLink) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("tap %s is still there: %v", name, err)
		}
		<-time.After(time.Millisecond)
	}
}

func TestAnErrorThatTookEffectIsRolledBackToo(t *testing.T) {
	t.Parallel()
	e := newEnv(hosttest.NewNS(t))
	fw := e.Firewall.(*fakeFirewall)
	fw.fail = true
	_, err := set(e, allVirbr, config(1))
	var failed *StepError
	if !errors.As(err, &failed) || !errors.Is(err, errFake) || !strings.HasPrefix(failed.Step.String(), "# firewall +bridges") {
		t.Fatalf("got %v, want a StepError of the firewall's step", err)
	}
	if err := settle(e, State{}); err != nil {
		t.Error(err)
	}
	if len(fw.members) != 0 {
		t.Errorf("left in the firewall: %v", fw.members)
	}
}

func TestForeignLinksAreNeverTouched(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link *")
	e := newEnv(ns)
	ns.Shell(`ip link add virbr1 type bridge
		ip link add virbr5 group 29793 type bridge; ip link set virbr5 alias somebody
		ip link add odd group 29793 type bridge
		ip link add virbr6 type bridge; ip link set virbr6 alias taproom:net-6`)
	before := ns.Run("ip", "-d", "link", "show")
	if err := settle(e, State{}); err != nil {
		t.Error(err)
	}
	for _, n := range []int{1, 5, 6} {
		if _, err := set(e, config(n).Scope(), config(n)); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), fmt.Sprint("virbr", n)) {
			t.Errorf("network on virbr%d: %v, want ErrForeign naming it", n, err)
		}
	}
	if d := cmp.Diff(before, ns.Run("ip", "-d", "link", "show")); d != "" {
		t.Errorf("links changed:\n%s", d)
	}
}

func TestALinkThatChangedHandsSinceItWasSeenIsNotRemoved(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	if err := settle(e, config(1)); err != nil {
		t.Fatal(err)
	}
	o, err := Observe(t.Context(), e, allVirbr)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Diff(e, o, State{})
	if err != nil {
		t.Fatal(err)
	}
	ns.Run("ip", "link", "set", "dev", "virbr1", "alias", "mine now")
	if err := p.Apply(t.Context(), e); !errors.Is(err, ErrForeign) {
		t.Errorf("removal: %v, want ErrForeign", err)
	}
	if _, err := e.Kernel.LinkByName("virbr1"); err != nil {
		t.Error(err)
	}
	ns.Run("ip", "link", "set", "dev", "virbr1", "alias", Alias("net-1"))
	empty(t, e)
}

func TestANameTakenSinceItWasSeenIsForeignAndTaken(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link virbr1")
	e := newEnv(ns)
	o, err := Observe(t.Context(), e, config(1).Scope())
	if err != nil {
		t.Fatal(err)
	}
	p, err := Diff(e, o, config(1))
	if err != nil {
		t.Fatal(err)
	}
	ns.Run("ip", "link", "add", "virbr1", "type", "bridge")
	if err := p.Apply(t.Context(), e); !errors.Is(err, ErrForeign) || !errors.Is(err, host.ErrTaken) {
		t.Errorf("got %v, want ErrForeign and ErrTaken", err)
	}
}

func TestAPortJoinsABridgeThatIsNotOurs(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link br0")
	e := newEnv(ns)
	ns.Run("ip", "link", "add", "br0", "type", "bridge")
	want := State{Ports: map[string]Port{"vnet0": {Owner: "guest-1", Master: "br0", NoIPv6: true, Up: true}}}
	if err := settle(e, want); err != nil {
		t.Error(err)
	}
	empty(t, e)
}

// volatile is what differs between two namespaces that are the same: indexes, generated addresses, flags of a tap
// nobody holds, timers, and the ageing time, which the kernel shortens while a tree of bridges is new; and of an ifb the address.
var volatile = regexp.MustCompile(`(?m)^\d+: shape[^/]*/ether \S+|^\d+: |@if\d+|state \w+|<[^>]*>|\w+_timer +[\d.]+|(bridge_id|designated_root|gc_timer|ageing_time) \S+|numtxqueues \d+|numrxqueues \d+|numqueues \d+|qlen \d+|qdisc \w+|valid_lft.*|persist \w+|ifindex \d+|topology_change\w* \d+|mq\b`)

// microseconds are what tc rounds to, and the kernel does not.
var microseconds = regexp.MustCompile(`(c|min)?burst \S+|lat \S+`)

func TestThePrintedPlanDoesWhatApplyDoes(t *testing.T) {
	t.Parallel()
	applied, typed := hosttest.NewNS(t), hosttest.NewNS(t)
	e := newEnv(applied)
	dump := func(ns *hosttest.NS) string {
		out := ns.Shell("ip -d link show; ip -4 address show; ip -6 address show scope global; ip -6 address show dev virbr2 || true; cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding; cd /proc/sys/net/ipv6/conf/virbr2 && cat accept_ra autoconf addr_gen_mode; for i in virbr0 virbr2 virbr3 vnet20 vnet31; do cat /proc/sys/net/ipv6/conf/$i/disable_ipv6 || true; done 2>/dev/null")
		out += ns.Shell(`tc qdisc show | grep -o 'tbf .*\|htb .*\|clsact .*' | sort
			for i in virbr3 vnet20 vnet21 vnet30 vnet31 shape3 shape31; do echo $i; tc class show dev $i | sort; tc filter show dev $i; tc filter show dev $i ingress; done 2>/dev/null || true`)
		return microseconds.ReplaceAllString(volatile.ReplaceAllString(out, ""), "")
	}
	both := config(2).Merge(config(3))
	six := both.Clone()
	six.Sysctls[ForwardIPv6] = "1"
	b := six.Bridges["virbr2"]
	b.NoIPv6, b.Static, b.LinkLocal, b.Addresses = false, true, prefixes("fe80::5054:ff:fe00:2/64"), append(b.Addresses, prefixes("fd00:3::1/64")...)
	six.Bridges["virbr2"] = b
	off := six.Clone()
	b.Static, b.LinkLocal, b.Addresses, b.NoIPv6 = false, nil, b.Addresses[:1], true
	off.Bridges["virbr2"] = b
	edited := both.Clone()
	edited.Bridges["virbr2"] = Bridge{Owner: "net-2", MAC: "52:54:00:00:00:77", Addresses: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/31")}, NoIPv6: true, Up: true}
	delete(edited.Bridges, "virbr3")
	delete(edited.Services, "net-3")
	for _, n := range []string{"vnet30", "vnet31", "vnet32"} {
		delete(edited.Ports, n)
	}
	for i, want := range []State{both, six, off, six, edited, {}} {
		scope := allVirbr
		scope.Sysctls = want.Scope().Sysctls
		p, err := set(e, scope, want)
		if err != nil {
			t.Fatal(err)
		}
		typed.Shell(p.String())
		if d := cmp.Diff(strings.Fields(dump(applied)), strings.Fields(dump(typed))); d != "" {
			t.Errorf("state %d, applied (-) and typed (+) differ:\n%s\nthe plan was:\n%s", i, d, p)
		}
	}
	empty(t, e)
}
