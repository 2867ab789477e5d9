package qos_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/load"
	"taproom/internal/network/qos"
)

const mtu = 1500

// whole reports whether all rates are measured, for long enough that a figure is right to 1 %, and how long requests take. Only
// on a machine that does nothing else: make shape.
func whole() bool { return os.Getenv("TAPROOM_SHAPE") != "" }

// attachment is a guest whose link is bounded, and who sends to it and gets from it.
type attachment struct {
	guest, far load.In
	place      *load.Place
	farAddr    *load.Site
	bound      *load.Bound

	ends   [2]end // of a packet: the guest's, and the far one
	queues [2]end // that count it: of what the guest sends, and of what it receives
}

// end is a link in a namespace.
type end struct {
	ns   *hosttest.NS
	link string
}

// close is for a test's end.
func closeAll(t *testing.T, closers ...func() error) {
	t.Cleanup(func() {
		for _, c := range closers {
			if err := c(); err != nil {
				t.Error(err)
			}
		}
	})
}

// onBridge is a guest on a bridge of the host.
func onBridge(t *testing.T) *attachment {
	ns, inside := hosttest.NewNS(t), hosttest.NewNS(t)
	site, err := load.NewSite(ns.Kernel(), "br0")
	if err != nil {
		t.Fatal(err)
	}
	place, err := site.Plug(inside.Kernel())
	if err != nil {
		t.Fatal(errors.Join(err, site.Close()))
	}
	bound, err := load.NewBound(ns.Kernel(), place.Tap.Index, "shape0", false)
	if err != nil {
		t.Fatal(err)
	}
	closeAll(t, bound.Close, place.Close, site.Close)
	return &attachment{
		inside.Do, ns.Do, place, site, bound,
		[2]end{{inside, "eth0"}, {ns, "br0"}},
		[2]end{{ns, "shape0"}, {ns, place.Tap.Name}},
	}
}

// onMacvtap is a guest on a macvtap, and another machine at the other end of the cable.
func onMacvtap(t *testing.T) *attachment {
	ns, inside, far := hosttest.NewNS(t), hosttest.NewNS(t), hosttest.NewNS(t)
	k := ns.Kernel()
	site, err := load.NewSite(far.Kernel(), "br0")
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Veth(ns, "eth0", far, "eth0")
	far.Run("ip", "link", "set", "dev", "eth0", "master", "br0")
	lower, err := k.LinkByName("eth0")
	if err != nil {
		t.Fatal(err)
	}
	index, err := k.CreateMacvlan(host.MacvlanSpec{Name: "macvtap0", Lower: lower.Index, Tap: true, Mode: host.MacvlanBridge, MAC: "52:54:00:00:00:02"})
	if err != nil {
		t.Fatal(err)
	}
	tap, err := k.OpenMacvtap("macvtap0", index, 1)
	if err == nil {
		err = k.SetUp(index, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	place, err := site.Take(k, inside.Kernel(), tap)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := load.NewBound(k, index, "shape0", true)
	if err != nil {
		t.Fatal(err)
	}
	closeAll(t, bound.Close, place.Close, func() error { return k.DeleteLink(index) }, site.Close)
	return &attachment{
		inside.Do, far.Do, place, site, bound,
		[2]end{{inside, "eth0"}, {far, "br0"}},
		[2]end{{ns, "macvtap0"}, {ns, "shape0"}},
	}
}

// attachments are the ways of a guest to the network.
func attachments() map[string]func(*testing.T) *attachment {
	return map[string]func(*testing.T) *attachment{"bridge": onBridge, "macvtap": onMacvtap}
}

// ways are the two directions, as a guest sees them.
func (a *attachment) way(out bool) (from, to load.In, limits func(uint64) qos.Limits) {
	if out {
		return a.guest, a.far, func(n uint64) qos.Limits { return qos.Limits{Out: qos.Limit{Average: n}} }
	}
	return a.far, a.guest, func(n uint64) qos.Limits { return qos.Limits{In: qos.Limit{Average: n}} }
}

// start begins a transfer against a limit in KiB/s.
func (a *attachment) start(t *testing.T, x load.Transport, out bool, kib uint64) *load.Flow {
	t.Helper()
	from, to, _ := a.way(out)
	pair := a.place.Addr
	if out {
		pair = a.farAddr.Addr
	}
	f, err := load.Start(t.Context(), from, to, x, pair, mtu, float64(kib<<10)*x.Share(mtu))
	if err != nil {
		t.Fatalf("%v: %v", x, err)
	}
	return f
}

// patience is how long a machine that is busy with everything else may take to keep to a limit once.
const patience = 3 * time.Minute

// What passes is the limit: never more since the transfer began, on any machine, and within a window or several no less. A guest
// behind each link has a limit for each direction.
func TestALimitIsKeptByWhatAGuestGets(t *testing.T) {
	t.Parallel()
	const kib = 2048 // which a busy machine carries
	some := map[bool][]load.Transport{true: {{Streams: 1}, {Six: true}}, false: {{Streams: 4, Six: true}, {}}}
	for name, attach := range attachments() {
		for _, out := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/out=%v", name, out), func(t *testing.T) {
				t.Parallel()
				a := attach(t)
				_, _, limits := a.way(out)
				if err := a.bound.Set(limits(kib), mtu); err != nil {
					t.Fatal(err)
				}
				for _, x := range some[out] {
					a.keeps(t, x, out, kib)
				}
			})
		}
	}
}

// keeps holds one transfer against a limit.
func (a *attachment) keeps(t *testing.T, x load.Transport, out bool, kib uint64) {
	t.Helper()
	const window = 2 * time.Second
	share := float64(kib<<10) * x.Share(mtu)
	burst := share/50 + 80<<10 // what passes at once
	began := time.Now()
	f := a.start(t, x, out, kib)
	defer f.Stop()
	var rates []float64
	for late := began.Add(patience); ; {
		first := f.Read()
		<-time.After(window)
		last := f.Read()
		if most := share*(1+x.Tolerance())*last.At.Sub(began).Seconds() + burst; float64(last.Bytes) > most {
			t.Errorf("%v: %d bytes passed in %v, want at most %.0f", x, last.Bytes, last.At.Sub(began), most)
			return
		}
		rate := first.Until(last)
		rates = append(rates, rate/share)
		if first.Passes(last, share*(1-x.Tolerance())) {
			return
		}
		if last.At.After(late) || time.Now().After(late) {
			t.Errorf("%v: never the whole limit passed: %.3f of it, second by second", x, rates)
			return
		}
	}
}

// A direction that is not bounded has no limit, and neither has one from which the limit was taken.
func TestTheOtherDirectionIsNotBounded(t *testing.T) {
	t.Parallel()
	for name, attach := range attachments() {
		for _, out := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/out=%v", name, out), func(t *testing.T) {
				t.Parallel()
				const kib = 64
				a := attach(t)
				_, _, limits := a.way(!out)
				if err := a.bound.Set(limits(kib), mtu); err != nil {
					t.Fatal(err)
				}
				a.exceeds(t, out, kib)
				if err := a.bound.Set(qos.Limits{}, mtu); err != nil {
					t.Fatal(err)
				}
				a.exceeds(t, !out, kib)
			})
		}
	}
}

// exceeds waits until more than a limit let through in as long as anybody waits has passed.
func (a *attachment) exceeds(t *testing.T, out bool, kib uint64) {
	t.Helper()
	f := a.start(t, load.Transport{Streams: 1}, out, kib)
	defer f.Stop()
	enough := int64(kib<<10) * int64(patience/time.Second)
	for late := time.Now().Add(patience); f.Read().Bytes < enough; <-time.After(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d bytes passed in %v: there is a limit", f.Read().Bytes, patience)
		}
	}
}

// A limit that changes does so for transfers under way, and nothing is lost of them.
func TestALimitChangesUnderATransfer(t *testing.T) {
	t.Parallel()
	for name, attach := range attachments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attach(t)
			var tasks sync.WaitGroup
			defer tasks.Wait()
			f := a.start(t, load.Transport{Streams: 1}, true, 0)
			defer f.Stop()
			for _, kib := range []uint64{4096, 512, 1024} {
				if err := a.bound.Set(qos.Limits{Out: qos.Limit{Average: kib}}, mtu); err != nil {
					t.Fatal(err)
				}
				a.settles(t, f, kib)
			}
		})
	}
}

// settles waits until a transfer has the rate of a limit.
func (a *attachment) settles(t *testing.T, f *load.Flow, kib uint64) {
	t.Helper()
	var got []float64
	for late := time.Now().Add(patience); time.Now().Before(late); {
		first := f.Read()
		<-time.After(time.Second)
		rate := first.Until(f.Read()) / float64(kib<<10)
		if got = append(got, rate); rate > 0.98 && rate < 1.02 {
			return
		}
	}
	t.Errorf("with a limit of %d KiB/s passed %.3f of it, second by second", kib, got)
}
