package state

import (
	"errors"
	"strings"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// held is what a guest that runs has: nothing of it is made, nor removed.
func held(s State) State {
	s = s.Clone()
	for name, p := range s.Ports {
		p.Held = true
		s.Ports[name] = p
	}
	for name, m := range s.Macvlans {
		m.Held = m.Tap
		s.Macvlans[name] = m
	}
	return s
}

// What a guest has open is called again what it should be, by one who sees everything and by one who looks at two names.
func TestALinkOfAGuestGetsItsNameBack(t *testing.T) {
	t.Parallel()
	ns := lowerNS(t)
	e := newEnv(ns)
	want := held(config(2).Merge(onLower(3)))
	want.Services, want.Elements, want.Sysctls = nil, nil, nil
	made := config(2).Merge(onLower(3))
	made.Services, made.Elements, made.Sysctls = nil, nil, nil
	scope := allVirbr
	scope.Pattern = func(n string) bool { return allVirbr.Pattern(n) || allMacv.Pattern(n) }
	scope.Lowers = want.Scope().Lowers
	if _, err := set(e, scope, made); err != nil {
		t.Fatal(err)
	}
	index := func(name string) int {
		l, err := e.Kernel.LinkByName(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return l.Index
	}
	tap, macvtap, other := index("vnet20"), index("macvtap30"), index("macvtap31")
	rename := func(name, to string) { // before Linux 6.2 ip has to take a link down for that
		ns.Shell("ip link set dev " + name + " name " + to + " 2>/dev/null || { ip link set dev " + name + " down; ip link set dev " + name + " name " + to + " up; }")
	}
	rename("vnet20", "web")
	rename("macvtap30", "a")
	rename("macvtap31", "b")
	ns.Run("ip", "link", "set", "dev", "b", "address", "52:54:00:00:00:99")
	plan, err := set(e, scope, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ip link set dev web name vnet20\n", "ip link set dev a name macvtap30\n", "ip link set dev b name macvtap31\n", "ip link set dev macvtap31 address 52:54:00:00:03:01\n"} {
		if !strings.Contains(plan.String(), line) {
			t.Errorf("no %q in\n%s", line, plan)
		}
	}
	if index("vnet20") != tap || index("macvtap30") != macvtap || index("macvtap31") != other {
		t.Error("they are others now")
	}
	if p, err := set(e, scope, want); err != nil || len(p) != 0 {
		t.Errorf("a second time: %v\n%s", err, p)
	}

	rename("vnet20", "web")
	one := State{Ports: map[string]Port{"vnet20": want.Ports["vnet20"]}}
	if p, err := set(e, Scope{Ports: []string{"vnet20"}}, one); err != nil || p.Names("vnet20") {
		t.Errorf("it was not looked at: %v\n%s", err, p)
	}
	if p, err := set(e, Scope{Ports: []string{"vnet20", "web", "vnet21"}}, one); err != nil || !p.Names("vnet20") || index("vnet20") != tap {
		t.Errorf("%v\n%s", err, p)
	}
	if _, err := set(e, scope, State{Lowers: want.Lowers}); err != nil {
		t.Error(err)
	}
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
}

// A link with a guest's label is the guest's, as long as that runs: also one that cannot be told from another, or whose name
// somebody took.
func TestWhatHasTheLabelOfAGuestThatRunsStays(t *testing.T) {
	t.Parallel()
	port := func(owner, mac string) Port { return Port{Owner: owner, MAC: mac, Held: true} }
	seen := func(ports map[string]Port, foreign map[string]string) Observed {
		o := Observed{All: true, Foreign: foreign, Index: map[string]int{}, State: State{Ports: ports}}
		for name, p := range ports {
			p.Held = false
			ports[name] = p
			o.Index[name] = 10 + len(o.Index)
		}
		return o
	}
	e := &Env{Group: testGroup}
	for _, c := range []struct {
		what          string
		have, want    map[string]Port
		foreign       map[string]string
		plan, strange string
	}{
		{
			what: "two that are missing, and two that have neither's address",
			have: map[string]Port{"a": port("g", "1"), "b": port("g", "2")}, want: map[string]Port{"vnet0": port("g", "3"), "vnet1": port("g", "4")},
		},
		{
			what: "the addresses tell", have: map[string]Port{"a": port("g", "2"), "b": port("g", "1")}, want: map[string]Port{"vnet0": port("g", "1"), "vnet1": port("g", "2")},
			plan: "ip link set dev b name vnet0\nip link set dev a name vnet1\n",
		},
		{
			what: "another guest's is none", have: map[string]Port{"a": port("h", "1"), "vnet5": port("h", "5")}, want: map[string]Port{"vnet0": port("g", "1"), "vnet5": port("h", "5")},
		},
		{
			what: "one of a guest that is gone", have: map[string]Port{"a": port("h", "1")}, want: map[string]Port{"vnet0": port("g", "1")}, plan: "ip link delete dev a\n",
		},
		{
			what: "its name was taken", have: map[string]Port{"a": port("g", "1")}, want: map[string]Port{"vnet0": port("g", "1")}, foreign: map[string]string{"vnet0": "is a veth"},
			strange: "vnet0",
		},
		{
			what: "it has the label of another", have: map[string]Port{"vnet0": port("h", "1"), "vnet1": port("g", "9")}, want: map[string]Port{"vnet0": port("g", "1"), "vnet1": port("g", "2")},
			plan: "ip link set dev vnet1 address 2\n", strange: "vnet0",
		},
	} {
		p, strangers, err := DiffRest(e, seen(c.have, c.foreign), State{Ports: c.want})
		strange := ""
		for _, s := range strangers {
			strange += s.Name
		}
		if err != nil || p.String() != c.plan || strange != c.strange {
			t.Errorf("%s: %v, %q\n%s", c.what, err, strange, p)
		}
		if _, err := Diff(e, seen(c.have, c.foreign), State{Ports: c.want}); errors.Is(err, ErrForeign) != (c.strange != "") {
			t.Errorf("%s: who insists is told %v", c.what, err)
		}
	}
}

// A bridge keeps its index, and so its guests, when it is named back, and when its network has another name for it.
func TestABridgeIsNamedBack(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	want := routing()
	want.Ports = map[string]Port{"vnet0": {Owner: "g", Master: "virbr1", Up: true}}
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	was, err := e.Kernel.LinkByName("virbr1")
	if err != nil {
		t.Fatal(err)
	}
	look := func(name string) {
		t.Helper()
		now, err := e.Kernel.LinkByName(name)
		if err != nil || now.Index != was.Index {
			t.Errorf("%s is %+v, %v; it was %+v", name, now, err, was)
		}
		if tap, err := e.Kernel.LinkByName("vnet0"); err != nil || tap.Master != was.Index {
			t.Errorf("the tap is %+v, %v", tap, err)
		}
	}
	if err := e.Kernel.RenameLink(was.Index, "virbrmine"); err != nil {
		t.Fatal(err)
	}
	if p, err := set(e, allVirbr, want); err != nil || !p.Names("virbr1") {
		t.Fatalf("%v:\n%s", err, p)
	}
	look("virbr1")
	other := want.Clone()
	other.Bridges = map[string]Bridge{"virbr7": want.Bridges["virbr1"]}
	other.Ports["vnet0"] = Port{Owner: "g", Master: "virbr7", Up: true}
	if _, err := set(e, other.Scope(want), other); err != nil {
		t.Fatal(err)
	}
	look("virbr7")
	if err := settle(e, other); err != nil { // an older kernel took it down for that
		t.Error(err)
	}
	if err := settle(e, State{}); err != nil {
		t.Error(err)
	}
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
}

// A name whose link somebody deleted may be another guest's by now.
func TestWhoRemovesHisOwnLeavesAnothersOfThatName(t *testing.T) {
	t.Parallel()
	ns := lowerNS(t)
	e := newEnv(ns)
	want := State{
		Ports:    map[string]Port{"vnet0": {Owner: "g", Up: true}, "vnet1": {Owner: "h", Up: true}},
		Macvlans: map[string]Macvlan{"macvtap0": {Owner: "g", Lower: "low1", Tap: true, Mode: host.MacvlanBridge}, "macvtap1": {Owner: "h", Lower: "low1", Tap: true, Mode: host.MacvlanBridge}},
	}
	if _, err := set(e, want.Scope(), want); err != nil {
		t.Fatal(err)
	}
	scope := want.Scope()
	scope.Owner = "g"
	p, err := set(e, scope, State{})
	if got := "ip link delete dev vnet0\nip link delete dev macvtap0\n"; err != nil || p.String() != got {
		t.Errorf("%v, %s", err, p)
	}
	if _, err := set(e, want.Scope(), State{}); err != nil {
		t.Error(err)
	}
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
}
