package state

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// guestPorts are n taps of a guest on a bridge.
func guestPorts(n int, bridge string) State {
	s := State{Ports: map[string]Port{}}
	for i := range n {
		s.Ports[fmt.Sprint("vnet", i)] = Port{Owner: "guest", MAC: fmt.Sprintf("fe:54:00:00:00:%02x", i), Master: bridge, MTU: 1400, NoIPv6: true, Up: true, Queues: 1 + i%2}
	}
	return s
}

func TestTakenNamesDoNotKeepTheOthersFromBeingMade(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link *")
	ns.Shell("ip link add br0 type bridge; ip link add vnet3 type dummy 2>/dev/null || ip link add vnet3 type bridge; ip tuntap add dev vnet10 mode tap")
	calls := map[string]int{}
	k := ns.KernelWith(func(c string) { calls[c]++ })
	defer k.Close()
	e := &Env{Kernel: k, Group: testGroup}
	want := guestPorts(100, "br0") // more than are under way at a time
	p, err := Diff(e, Observed{}, want)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Apply(t.Context(), e)
	var taken *TakenError
	if !errors.As(err, &taken) || !slices.Equal(taken.Names, []string{"vnet3", "vnet10"}) {
		t.Fatalf("got %v, want a TakenError for vnet3 and vnet10", err)
	}
	if !errors.Is(err, ErrForeign) || !errors.Is(err, host.ErrTaken) || !strings.Contains(err.Error(), "vnet3") || !strings.Contains(err.Error(), "so are vnet10") {
		t.Errorf("the error says: %v", err)
	}
	if calls["link get"] != 1 { // their bridge
		t.Errorf("%d links were asked for by name", calls["link get"])
	}
	delete(want.Ports, "vnet3")
	delete(want.Ports, "vnet10")
	o, err := Observe(t.Context(), e, Scope{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range want.Ports {
		p.Queues = 0
		want.Ports[name] = p
	}
	if d := cmp.Diff(want.Ports, o.Ports); d != "" {
		t.Errorf("made (-want +got):\n%s", d)
	}
	if out := ns.Run("tc", "qdisc", "show", "dev", "vnet1"); !strings.Contains(out, "noqueue") {
		t.Errorf("the queue of a tap with two channels: %s", out)
	}
	p, err = Diff(e, o, State{})
	if err != nil || p.Apply(t.Context(), e) != nil || len(e.Taps) != 0 {
		t.Errorf("removal: %v, taps left: %d", err, len(e.Taps))
	}
	if out := ns.Run("ip", "-o", "link"); strings.Count(out, "vnet") != 2 {
		t.Errorf("left:\n%s", out)
	}
	ns.Shell("ip link delete br0; ip link delete vnet3; ip link delete vnet10")
}

func TestAFailureAmongRequestsUnderWayNamesItsStep(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := &Env{Kernel: ns.Kernel(), Group: testGroup}
	want := guestPorts(5, "")
	two := want.Ports["vnet2"]
	two.MAC = "01:00:5e:00:00:01" // of a group of receivers, not of a link
	want.Ports["vnet2"] = two
	p, err := Diff(e, Observed{}, want)
	if err != nil {
		t.Fatal(err)
	}
	var failed *StepError
	if err := p.Apply(t.Context(), e); !errors.As(err, &failed) || !strings.Contains(failed.Step.String(), "dev vnet2 ") || !strings.Contains(failed.Step.String(), two.MAC) {
		t.Errorf("got %v, want the step that sets the address of vnet2", err)
	}
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
}

func TestLinksThatWereAboutToGoAreOursAndGoOrStay(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	want := guestPorts(3, "")
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	group := fmt.Sprint(leaving(testGroup))
	ns.Run("ip", "link", "set", "dev", "vnet0", "group", group) // killed before it removed them
	ns.Run("ip", "link", "set", "dev", "vnet1", "group", group)
	for name, p := range want.Ports {
		p.Held = true // a guest still has them
		want.Ports[name] = p
	}
	delete(want.Ports, "vnet1")
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	o, err := Observe(t.Context(), e, allVirbr)
	if err != nil || len(o.Ports) != 2 || !o.Has("vnet0") || o.Ports["vnet0"].Leaving {
		t.Errorf("left: %+v, %v, want vnet0 in our group, and vnet2", o.Ports, err)
	}
	if err := e.CloseTaps(); err != nil {
		t.Error(err)
	}
	empty(t, e)
}

// A bridge is made, labelled, quietened and then all the rest of it is under way together.
func TestANewBridgeIsFewConversations(t *testing.T) {
	t.Parallel()
	want := State{Bridges: map[string]Bridge{"virbr0": {
		Owner: "a", MAC: "52:54:00:00:00:01", Static: true, Up: true, LinkLocal: []netip.Prefix{netip.MustParsePrefix("fe80::1/64")},
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("2001:db8::1/64")},
	}}}
	p, err := Diff(&Env{Group: testGroup}, Observed{}, want)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	together := 0
	for i, s := range p {
		_, is := s.(piped)
		if is && i > 0 && together > 0 {
			together++
			continue
		}
		together = 0
		if is {
			together = 1
		}
		made = append(made, s.String())
	}
	sysctl := "sysctl -q -w net/ipv6/conf/virbr0/"
	if d := cmp.Diff([]string{
		"ip link add name virbr0 address 52:54:00:00:00:01 group " + strconv.Itoa(testGroup) + " type bridge forward_delay 0 stp_state 0 no_linklocal_learn 1", "ip link set dev virbr0 alias taproom:a",
		sysctl + "addr_gen_mode=1", sysctl + "accept_ra=0", sysctl + "autoconf=0", sysctl + "disable_ipv6=0", "ip address add 192.0.2.1/24 broadcast + dev virbr0",
	}, made); d != "" || together != 4 {
		t.Errorf("conversations begin with (-want +got):\n%s\nof the last %d steps; want 4: three addresses, and up", d, together)
	}
}
