package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// talk has one conversation with the kernel, nothing of which may fail.
func talk(t *testing.T, k *host.Kernel, say func(p *host.Pipeline, done func(error))) {
	t.Helper()
	p := k.Pipeline()
	say(p, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	p.Flush()
	if t.Failed() {
		t.FailNow()
	}
}

// ifbs makes links that are up and returns their indexes.
func ifbs(t *testing.T, ns *hosttest.NS, names ...string) []int {
	t.Helper()
	k, out := ns.Kernel(), make([]int, len(names))
	talk(t, k, func(p *host.Pipeline, done func(error)) {
		for i, name := range names {
			ns.Keep("link " + name)
			p.CreateIFB(name, 7, func(index int, err error) {
				out[i] = index
				done(err)
			})
		}
	})
	return out
}

// lines are those of a tool's output that begin with a word, without what depends on the kernel's version.
func lines(out, word string) string {
	var kept []string
	for l := range strings.Lines(out) {
		if l = strings.Join(strings.Fields(l), " "); strings.HasPrefix(l, word) {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

func TestABucketIsSetChangedReadAndRemoved(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k, index := ns.Kernel(), ifbs(t, ns, "shape0")[0]
	for _, c := range []struct {
		set   host.TBF
		shown string
	}{
		{host.TBF{Rate: 1 << 20, Buffer: host.Ticks(10486, 1<<20), Limit: 40000}, "rate 8388Kbit burst 10485b lat 28.1ms"},
		{
			host.TBF{Rate: 1 << 20, Buffer: host.Ticks(4<<20, 1<<20), Peak: 2 << 20, PeakBuffer: host.Ticks(20972, 2<<20), Limit: 50000},
			"rate 8388Kbit burst 4Mb peakrate 16777Kbit minburst 20971b lat 13.8ms",
		},
		{
			host.TBF{Rate: 1 << 20, Buffer: host.Ticks(70664, 1<<20), Peak: host.CutRate, Limit: 40000, Segment: 10486},
			"rate 8388Kbit burst 69Kb peakrate 8000Tbit lat 0us",
		},
		{host.TBF{Rate: 5 << 30, Buffer: host.Ticks(53687091, 5<<30), Limit: 53687091}, "rate 42949Mbit burst 53686747b lat 0us"},
	} {
		talk(t, k, func(p *host.Pipeline, done func(error)) { p.SetTBF(index, c.set, done) })
		q, there, err := k.Queue(index)
		want := c.set
		want.Segment = 0 // nobody tells
		if d := cmp.Diff(host.Queue{Index: index, Handle: host.BucketHandle, Bucket: want}, q); d != "" || !there || err != nil {
			t.Errorf("read (-set +read): %v, %v\n%s", there, err, d)
		}
		shown := lines(ns.Run("tc", "qdisc", "show", "dev", "shape0"), "qdisc")
		shown = strings.Replace(shown, "burst 53681722b", "burst 53686747b", 1) // of the same ticks: tc 6.1, tc 6.15
		if shown != "qdisc tbf 7a70: root refcnt 2 "+c.shown {
			t.Errorf("%+v is shown as\n%s", c.set, shown)
		}
	}
	all, err := k.Queues()
	if err != nil || len(all) != 1 || all[0].Index != index {
		t.Errorf("all queues: %+v, %v", all, err)
	}
	for range 2 {
		talk(t, k, func(p *host.Pipeline, done func(error)) { p.DelQueue(index, host.BucketHandle, done) })
		if q, there, err := k.Queue(index); there || err != nil {
			t.Errorf("removed: %+v, %v, %v", q, there, err)
		}
	}
	ns.Run("tc", "qdisc", "add", "dev", "shape0", "root", "handle", "5:", "htb")
	if q, there, err := k.Queue(index); there || err != nil {
		t.Errorf("somebody else's is taken for ours: %+v, %v, %v", q, there, err)
	}
	talk(t, k, func(p *host.Pipeline, done func(error)) { p.DelQueue(index, host.BucketHandle, done) })
	if shown := ns.Run("tc", "qdisc", "show", "dev", "shape0"); !strings.Contains(shown, "htb 5:") {
		t.Errorf("somebody else's was removed:\n%s", shown)
	}
}

func TestATreeIsSetChangedReadAndRemoved(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k, index := ns.Kernel(), ifbs(t, ns, "shape0")[0]
	class := func(rate, ceil uint64) host.HTBClass {
		return host.HTBClass{Rate: rate, Ceil: ceil, RateBuffer: host.Ticks(3200, rate), CeilBuffer: host.Ticks(6400, ceil)}
	}
	cut := host.TBF{Rate: host.CutRate, Segment: 10000, Limit: 50000}
	talk(t, k, func(p *host.Pipeline, done func(error)) {
		p.SetTree(index, 2, done)
		p.SetClass(index, 0, 1, class(1<<20, 2<<20), done)
		p.SetClass(index, 1, 2, class(1<<19, 2<<20), done)
		p.SetClass(index, 1, 0xfff0, class(5<<30, 6<<30), done)
		p.SetClassTBF(index, 0xfff0, cut, done)
		p.Classify(index, 0xfff0, "52:54:00:ab:cd:ef", done)
	})
	cut.Segment = 0 // nobody tells
	want := map[uint16]host.Leaf{
		1:      {Class: 1, HTBClass: class(1<<20, 2<<20)},
		2:      {Class: 2, Parent: 1, HTBClass: class(1<<19, 2<<20)},
		0xfff0: {Class: 0xfff0, Parent: 1, HTBClass: class(5<<30, 6<<30), Cut: cut, MAC: "52:54:00:ab:cd:ef"},
	}
	read := func() map[uint16]host.Leaf {
		t.Helper()
		leaves, err := k.Leaves(index)
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint16]host.Leaf{}
		for _, l := range leaves {
			got[l.Class] = l
		}
		return got
	}
	if d := cmp.Diff(want, read()); d != "" {
		t.Errorf("read (-set +read):\n%s", d)
	}
	q, there, err := k.Queue(index)
	if q.Handle != host.TreeHandle || q.Rest != 2 || !there || err != nil {
		t.Errorf("the tree: %+v, %v, %v", q, there, err)
	}
	if shown := ns.Run("tc", "filter", "show", "dev", "shape0"); !strings.Contains(shown, "flowid 7a71:fff0") || !strings.Contains(shown, "match abcdef") && !strings.Contains(shown, "match 00abcdef/ffffffff at -12") {
		t.Errorf("the filter is shown as\n%s", shown)
	}
	talk(t, k, func(p *host.Pipeline, done func(error)) { // changed, and taken back, once more than there is
		p.SetClass(index, 1, 2, class(1<<18, 2<<20), done)
		for range 2 {
			p.Unclassify(index, 0xfff0, done)
			p.DelClass(index, 0xfff0, done)
		}
	})
	delete(want, 0xfff0)
	want[2] = host.Leaf{Class: 2, Parent: 1, HTBClass: class(1<<18, 2<<20)}
	if d := cmp.Diff(want, read()); d != "" {
		t.Errorf("changed (-want +read):\n%s", d)
	}
	talk(t, k, func(p *host.Pipeline, done func(error)) {
		p.SetTBF(index, host.TBF{Rate: 1 << 20, Buffer: 1 << 20, Limit: 40000}, done)
	})
	if q, there, err := k.Queue(index); q.Handle != host.BucketHandle || !there || err != nil {
		t.Errorf("a bucket in its place: %+v, %v, %v", q, there, err)
	}
}

func TestWhatComesInTakesAnotherLinksQueueFirst(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k, links := ns.Kernel(), ifbs(t, ns, "shape0", "shape1")
	if through, err := k.Redirected(links[0]); through != 0 || err != nil {
		t.Errorf("redirected through %d, %v, before it was", through, err)
	}
	ns.Run("tc", "qdisc", "add", "dev", "shape0", "clsact") // somebody's
	ns.Shell("tc filter add dev shape0 ingress pref 7 protocol ip u32 match u32 0 0 action mirred egress mirror dev shape1")
	talk(t, k, func(p *host.Pipeline, done func(error)) { p.Redirect(links[0], links[1], done) })
	if through, err := k.Redirected(links[0]); through != links[1] || err != nil {
		t.Errorf("redirected through %d, %v, want %d", through, err, links[1])
	}
	shown := ns.Run("tc", "filter", "show", "dev", "shape0", "ingress")
	for _, want := range []string{"filter protocol all pref 31344 u32", "match 00000000/00000000 at 0", fmt.Sprintf("(Egress Redirect to device %s) stolen", "shape1"), "pref 7 u32"} {
		if !strings.Contains(shown, want) {
			t.Errorf("there is no %q in\n%s", want, shown)
		}
	}
	ns.Run("ip", "link", "delete", "shape1")
	if through, err := k.Redirected(links[0]); through != -1 || err != nil {
		t.Errorf("redirected through %d, %v, when that link has gone", through, err)
	}
	for range 2 {
		talk(t, k, func(p *host.Pipeline, done func(error)) { p.DelRedirect(links[0], done) })
	}
	if through, err := k.Redirected(links[0]); through != 0 || err != nil {
		t.Errorf("redirected through %d, %v, after it was taken back", through, err)
	}
	if shown := ns.Run("tc", "filter", "show", "dev", "shape0", "ingress"); !strings.Contains(shown, "pref 7 u32") {
		t.Errorf("somebody else's filter is gone:\n%s", shown)
	}
}

// What a kernel counts time in, and what it makes of it.
func TestTicksAreWhatTheKernelCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes, rate uint64
		ticks       uint32
	}{
		{0, 1, 0},
		{1 << 20, 0, 0},
		{1 << 20, 1 << 20, 15625000},
		{10, 1e9, 0},
		{1e10, 1e9, 156250000},
		{1 << 40, 1, 1<<32 - 1},
		{274, 1, 4281250000},
		{275, 1, 1<<32 - 1},
	} {
		if got := host.Ticks(c.bytes, c.rate); got != c.ticks {
			t.Errorf("%d bytes at %d take %d ticks, want %d", c.bytes, c.rate, got, c.ticks)
		}
	}
	if got := host.Bytes(15625000, 1<<20); got != 1<<20 {
		t.Errorf("in a second %d bytes pass", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		bytes, rate := rapid.Uint64Range(0, 1<<42).Draw(t, "bytes"), rapid.Uint64Range(1, 1<<43).Draw(t, "rate")
		ticks := host.Ticks(bytes, rate)
		if got := host.Ticks(host.Bytes(ticks, rate), rate); got != ticks {
			t.Errorf("%d ticks at %d are %d bytes, and those %d ticks", ticks, rate, host.Bytes(ticks, rate), got)
		}
	})
}
