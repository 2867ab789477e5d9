package ovs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/ovsdb/ovstest"
	"taproom/internal/network/load"
	"taproom/internal/network/qos"
	"taproom/internal/network/state"
)

// bound gives a tap the queue of a limit for what a guest receives.
func (b *bench) bound(name string, kib uint64) {
	b.Helper()
	var failed error
	p := b.ns.Kernel().Pipeline()
	p.SetTBF(b.env.Taps[name].Index, qos.Limit{Average: kib}.Bucket(1500), func(err error) { failed = err })
	p.Flush()
	if failed != nil {
		b.Fatal(failed)
	}
}

// isBounded reports whether a tap still has that queue.
func (b *bench) isBounded(name string) bool {
	b.Helper()
	_, there, err := b.ns.Kernel().Queue(b.env.Taps[name].Index)
	if err != nil {
		b.Fatal(err)
	}
	return there
}

// A switch takes the queues of its ports for its own. It is told where they are not, and goes on leaving them alone.
func TestTheSwitchLeavesQueuesOfBoundedPortsAlone(t *testing.T) {
	t.Parallel()
	datapaths(t, func(t *testing.T, b *wires) {
		want := ports("guest-1", "br0", 0, 2)
		p := want.SwitchPorts["vnet0"]
		p.Bounded = true
		want.SwitchPorts["vnet0"] = p
		b.settle(want)
		for _, name := range []string{"vnet0", "vnet1"} {
			b.bound(name, 1024)
		}
		put := func(s state.State) { // which does not look at queues
			if err := b.set(s); err != nil {
				t.Fatal(err)
			}
		}
		more := want.Merge(ports("guest-2", "br0", 2, 1))
		p.VLAN = &state.VLAN{Tag: []int{7}}
		more.SwitchPorts["vnet0"] = p
		put(more)
		if !b.isBounded("vnet0") {
			t.Error("a change of ports removed the queue")
		}
		b.sw.StopDaemon()
		b.sw.StartDaemon()
		put(more)
		if !b.isBounded("vnet0") {
			t.Error("a switch that started again removed the queue")
		}
		b.sw.Ctl("del-port", "vnet0", "--", "del-port", "vnet1")
		put(more)
		if !b.isBounded("vnet0") {
			t.Error("a port that was plugged in anew lost its queue")
		}
		if b.isBounded("vnet1") {
			t.Error("the switch left a queue alone that it was not told of: what it is told proves nothing")
		}
		// One that is bounded while it is plugged in.
		p = more.SwitchPorts["vnet1"]
		p.Bounded = true
		more.SwitchPorts["vnet1"] = p
		put(more)
		if rows := strings.Count(b.sw.Ctl("--columns=type", "list", "QoS"), "linux-noop"); rows != 2 {
			t.Errorf("the database says of %d ports that their queues are not the switch's, want 2", rows)
		}
		b.settle(state.State{})
		if rows := b.sw.Ctl("list", "QoS"); rows != "" {
			t.Errorf("left in the database:\n%s", rows)
		}
	}, "br0")
}

// With the kernel's datapath both directions are bounded as on any bridge.
func TestALimitIsKeptOnTheKernelsSwitch(t *testing.T) {
	t.Parallel()
	hosttest.Needs(t, ovstest.KernelDatapath(), hosttest.Lift{Module: "openvswitch"})
	b := newBench(t)
	b.sw.SystemBridge("br0")
	want := ports("guest-1", "br0", 0, 2)
	p := want.SwitchPorts["vnet0"]
	p.Bounded = true
	want.SwitchPorts["vnet0"] = p
	b.settle(want)
	b.bounds()
	b.settle(state.State{})
}

// bounds holds limits of vnet0 against what the guests behind it and vnet1 get of each other, and leaves nothing of theirs.
func (b *bench) bounds() {
	b.Helper()
	closes := func(c func() error) {
		if err := c(); err != nil {
			b.Error(err)
		}
	}
	ends, places := [2]*hosttest.NS{hosttest.NewNS(b), hosttest.NewNS(b)}, [2]*load.Place{}
	k := b.ns.Kernel()
	site, err := load.NewSite(k, "addresses") // nobody is on it
	if err != nil {
		b.Fatal(err)
	}
	defer closes(site.Close)
	for i, name := range []string{"vnet0", "vnet1"} {
		tap := &host.Tap{Name: name, Index: b.env.Taps[name].Index, Files: b.env.Taps[name].Files}
		if places[i], err = site.Take(k, ends[i].Kernel(), tap); err != nil {
			b.Fatal(err)
		}
		defer closes(places[i].Guest.Close)
	}
	bound, err := load.NewBound(k, b.env.Taps["vnet0"].Index, "shape0", false)
	if err != nil {
		b.Fatal(err)
	}
	defer closes(bound.Close)
	const kib = 512 // which an emulated machine carries
	if err := bound.Set(qos.Limits{In: qos.Limit{Average: kib}, Out: qos.Limit{Average: kib}}, 1500); err != nil {
		b.Fatal(err)
	}
	for _, x := range []load.Transport{{Streams: 1}, {Six: true}} {
		for i := range ends {
			b.keeps(x, ends[i].Do, ends[1-i].Do, places[1-i], kib)
		}
	}
}

// keeps waits until a transfer has the rate of a limit, which it never exceeds.
func (b *bench) keeps(x load.Transport, from, to load.In, place *load.Place, kib uint64) {
	b.Helper()
	share := float64(kib<<10) * x.Share(1500)
	began := time.Now()
	f, err := load.Start(b.Context(), from, to, x, place.Addr, 1500, share)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Stop()
	var rates []float64
	for late := time.Now().Add(2 * patient); ; {
		first := f.Read()
		<-time.After(2 * time.Second)
		last := f.Read()
		if most := share*(1+x.Tolerance())*last.At.Sub(began).Seconds() + share/50 + 80<<10; float64(last.Bytes) > most {
			b.Errorf("%v: %d bytes passed in %v, want at most %.0f", x, last.Bytes, last.At.Sub(began), most)
			return
		}
		if first.Passes(last, share*(1-x.Tolerance())) {
			return
		}
		rates = append(rates, first.Until(last)/share)
		if time.Now().After(late) {
			b.Errorf("%v: never the whole limit passed: %.3f of it, each for 2 s; the sender was late by %v", x, rates, last.Late)
			return
		}
	}
}

// What a guest sends to a switch that reads frames itself cannot be bounded, and is refused before anything is made.
func TestALimitThatTheSwitchPassesByIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 1)
	limit := qos.Limit{Average: 1024}
	want.Shapers = map[string]state.Shaper{"bw-0": {Owner: "guest-1", NoIPv6: true, Up: true}}
	want.Shapes = map[string]state.Shape{
		"vnet0": {Queue: qos.Queue{Bucket: limit.Bucket(0)}, Through: "bw-0"},
		"bw-0":  {Queue: qos.Queue{Bucket: limit.Bucket(0)}},
	}
	var unbound *state.UnboundError
	if p, err := b.plan(want, want.Scope()); !errors.As(err, &unbound) || unbound.Port != "vnet0" || unbound.Bridge != "br0" {
		t.Errorf("%v\n%s", err, p)
	}
	want.Shapers, want.Shapes = nil, map[string]state.Shape{"vnet0": {Queue: qos.Queue{Bucket: limit.Bucket(0)}}}
	p := want.SwitchPorts["vnet0"]
	p.Bounded = true
	want.SwitchPorts["vnet0"] = p
	b.settle(want)
	if !b.isBounded("vnet0") {
		t.Error("what the guest receives is not bounded")
	}
	b.settle(state.State{})
}
