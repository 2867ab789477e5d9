package nwfilters

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"taproom/internal/network/nwfilter/learn"
)

// ears are what a learner was asked for, in memory.
type ears struct {
	watched map[string]learn.Port
	changed func([]learn.Change)
}

func (e *ears) Watch(p learn.Port) (out []netip.Addr, err error) {
	e.watched[p.Name] = p
	for range p.Known {
		out = append(out, netip.MustParseAddr("10.0.0.8"))
	}
	return out, nil
}

func (e *ears) Forget(port string) { delete(e.watched, port) }

func (e *ears) Close() {}

// learns has the world's NIC say that it has addresses.
func (w *world) learns(port string, addrs ...string) {
	c := learn.Change{Port: port, State: []learn.Learned{{}}}
	for _, a := range addrs {
		c.Addresses = append(c.Addresses, netip.MustParseAddr(a))
	}
	w.ears.changed([]learn.Change{c})
}

func TestAddressesThatNobodySaysAreLearnedAndKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := []Binding{
		nic("any", "clean-traffic"), nic("dhcp", "clean-traffic", "CTRL_IP_LEARNING=dhcp", "DHCPSERVER=10.0.0.1"),
		nic("known", "clean-traffic", "IP=10.0.0.5"),
	}
	w.attach(all...)
	if got := fmt.Sprintf("%v %v %v %d", w.ears.watched["any"].Mode, w.ears.watched["dhcp"].Mode, w.ears.watched["dhcp"].Trusted, len(w.ears.watched)); got != "any dhcp [10.0.0.1] 2" {
		t.Errorf("watched are %s: %+v", got, w.ears.watched)
	}
	n, before := len(w.kernel.applies), w.kernel.ports["any"]
	w.learns("any", "10.0.0.7", "fd00::7")
	after := w.kernel.ports["any"]
	if w.kernel.since(n) != "+any" || before.Key == after.Key {
		t.Errorf("transactions %q; it was %v and is %v", w.kernel.since(n), before, after)
	}
	if b, _ := w.Bound("any"); fmt.Sprint(b.Learned) != "[10.0.0.7 fd00::7]" {
		t.Errorf("learned are %v", b.Learned)
	}
	w.learns("gone", "10.0.0.9") // it was just detached
	w.learns("any", "10.0.0.8")
	if now := w.kernel.ports["any"]; now.Key != after.Key || now.Hash == after.Hash {
		t.Errorf("with another address it is %v, it was %v", now, after)
	}
	n, after = len(w.kernel.applies), w.kernel.ports["any"]
	w.daemon(all)
	if b, _ := w.Bound("any"); fmt.Sprint(b.Learned) != "[10.0.0.8]" || w.kernel.since(n) != "" || w.kernel.ports["any"] != after {
		t.Errorf("after a restart learned are %v, transactions %q", b.Learned, w.kernel.since(n))
	}
	if err := w.Detach(t.Context(), all[0].Owner, []string{"any", "dhcp"}); err != nil {
		t.Fatal(err)
	}
	if len(w.ears.watched) != 0 {
		t.Errorf("watched are %v", w.ears.watched)
	}
	w.daemon(nil)
	if len(w.known) != 0 {
		t.Errorf("known is %v", w.known)
	}
}

func TestHowAddressesAreLearnedIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	complains(t, w.Check(nic("a", "clean-traffic", "CTRL_IP_LEARNING=perhaps")), "CTRL_IP_LEARNING", "perhaps")
	complains(t, w.Check(nic("a", "clean-traffic", "CTRL_IP_LEARNING=none")), "IP", "no value")
	complains(t, w.Attach(t.Context(), []Binding{nic("a", "clean-traffic", "DHCPSERVER=here")}), "DHCPSERVER", "here")
	if w.attached() != "" {
		t.Errorf("attached %q", w.attached())
	}
}

func TestAFilterThatBeginsToAskForAddressesHasThemLearned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.attach(nic("vnet0", "a"))
	if len(w.ears.watched) != 0 {
		t.Errorf("watched are %v", w.ears.watched)
	}
	w.mustDefine(filter("a", 1, refers("no-ip-spoofing")))
	if len(w.ears.watched) != 1 {
		t.Errorf("watched are %v", w.ears.watched)
	}
	w.mustDefine(filter("a", 1, ""))
	if len(w.ears.watched) != 0 || !strings.Contains(w.xml("a"), "dstportstart='1'") {
		t.Errorf("watched are %v", w.ears.watched)
	}
}

func TestALearnerIsToldWhatTheNetworkKeepsForItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.around = Around{Bridge: "br7", Reserved: []netip.Addr{netip.MustParseAddr("10.7.0.1")}, Within: []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24")}}
	b := nic("vnet0", "clean-traffic")
	b.Bridge = "br7"
	for _, begin := range []func(){func() { w.attach(b) }, func() { w.daemon([]Binding{b}) }} {
		begin()
		p := w.ears.watched["vnet0"]
		if got := fmt.Sprintf("%s %v %v", p.Network, p.Reserved, p.Within); got != "br7 [10.7.0.1] [10.7.0.0/24]" {
			t.Errorf("the learner was told %s", got)
		}
	}
}
