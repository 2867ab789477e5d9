package state

import (
	"fmt"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/qos"
)

// nics are taps, of which the bounded ones are so in both directions.
func nics(n int, bounded bool) State {
	s := State{Ports: map[string]Port{}, Shapers: map[string]Shaper{}, Shapes: map[string]Shape{}}
	for i := range n {
		name, shaper := fmt.Sprint("vnet", i), fmt.Sprint("shape", i)
		s.Ports[name] = Port{Owner: "guest", NoIPv6: true, Up: true}
		if bounded {
			bucket := qos.Queue{Bucket: qos.Limit{Average: 1024}.Bucket(1500)}
			s.Shapers[shaper] = Shaper{Owner: "guest", NoIPv6: true, Up: true}
			s.Shapes[name], s.Shapes[shaper] = Shape{Queue: bucket, Through: shaper}, Shape{Queue: bucket}
		}
	}
	return s
}

// What bounds cost is counted in calls, of which each is one message to the kernel or one write: a NIC without bounds costs none,
// one with them in both directions the same few whatever there is beside it, and one that changes those of the one alone.
func TestABoundedNICCostsAFewMessagesAndAnotherNone(t *testing.T) {
	t.Parallel()
	calls := func(n int, bounded bool) (made, changed int) {
		ns := hosttest.NewNS(t)
		e, at := newEnv(ns), 0
		k := ns.KernelWith(func(string) { at++ })
		defer k.Close()
		counted := *e
		counted.Kernel = k
		want := nics(n, bounded)
		p, err := Diff(&counted, Observed{}, want)
		if err == nil {
			err = p.Apply(t.Context(), &counted)
		}
		if err != nil {
			t.Fatal(err)
		}
		made, at = at, 0
		if bounded {
			one := State{Shapes: map[string]Shape{"vnet1": {Queue: qos.Queue{Bucket: qos.Limit{Average: 2048}.Bucket(1500)}, Through: "shape1"}}, Shapers: map[string]Shaper{"shape1": want.Shapers["shape1"]}}
			if p, err := set(&counted, one.Scope(), one); err != nil || len(p) != 1 {
				t.Errorf("%v, and these:\n%s", err, p)
			}
			changed = at
		}
		e.Taps = counted.Taps
		empty(t, e)
		return made, changed
	}
	plain, _ := calls(4, false)
	few, one := calls(4, true)
	many, other := calls(24, true)
	const each = 9 // an ifb, its IPv6, bucket, settings and label; clsact and a filter; in the tap's bucket's place it had no queue
	if got := few - plain; got > 4*each {
		t.Errorf("4 bounded NICs cost %d calls more than others, want %d each at most", got, each)
	}
	if many > 6*few {
		t.Errorf("24 cost %d calls, and 4 cost %d", many, few)
	}
	if one != other || one == 0 {
		t.Errorf("changing one of 4 takes %d calls, and one of 24 %d", one, other)
	}
}

// A redirection to a link that has gone loses every frame: it is as if there were another one than is wanted.
func TestARedirectionToALinkThatHasGoneIsMadeAnew(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := newEnv(ns)
	want := nics(1, true)
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	ns.Run("ip", "link", "delete", "shape0")
	if err := settle(e, want); err != nil {
		t.Fatal(err)
	}
	l, err := e.Kernel.LinkByName("shape0")
	if err != nil {
		t.Fatal(err)
	}
	tap, err := e.Kernel.LinkByName("vnet0")
	if err != nil {
		t.Fatal(err)
	}
	if through, err := e.Kernel.Redirected(tap.Index); through != l.Index || err != nil {
		t.Errorf("what comes in goes through link %d, %v, want %d", through, err, l.Index)
	}
	if q, there, err := e.Kernel.Queue(l.Index); !there || q.Handle != host.BucketHandle || err != nil {
		t.Errorf("its queue: %+v, %v, %v", q, there, err)
	}
	empty(t, e)
}
