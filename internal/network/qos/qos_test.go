package qos_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/host"
	"taproom/internal/network/qos"
	"taproom/internal/spec"
)

func TestALimitIsOfPayloadAndTheKernelCountsHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kib  uint64
		mtu  int
		wire uint64
	}{
		{0, 1500, 0},
		{1024, 1500, 1096370},
		{1024, 0, 1096370},
		{1024, 9000, 1056310},
		{1<<32 - 1, 1500, 4598509955981}, // 4 TiB/s do not overflow
	} {
		got := qos.Wire(c.kib, c.mtu)
		if got != c.wire {
			t.Errorf("%d KiB in frames of %d are %d bytes on the wire, want %d", c.kib, c.mtu, got, c.wire)
		}
	}
}

func TestReadTakesWhatADocumentSays(t *testing.T) {
	t.Parallel()
	got, err := qos.Read(&spec.Bandwidth{Inbound: &spec.Rate{Average: " 1000", Peak: "5000", Burst: "1024", Floor: "200"}, Outbound: &spec.Rate{Average: "4294967295"}})
	want := qos.Limits{In: qos.Limit{Average: 1000, Peak: 5000, Burst: 1024, Floor: 200}, Out: qos.Limit{Average: 1<<32 - 1}}
	if got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := qos.Read(nil); got != (qos.Limits{}) || err != nil {
		t.Errorf("nothing is read as %+v, %v", got, err)
	}
	for _, n := range []string{"4294967296", "-1", "x"} {
		if _, err := qos.Read(&spec.Bandwidth{Outbound: &spec.Rate{Average: n}}); err == nil {
			t.Errorf("%s is taken for a number of 32 bits", n)
		}
	}
}

func TestAPeakBelowTheAverageHoldsForWhatIsReceived(t *testing.T) {
	t.Parallel()
	both := func(l qos.Limit) qos.Limits { return qos.Limits{In: l, Out: l} }
	for _, c := range []struct{ said, kept qos.Limits }{
		{qos.Limits{}, qos.Limits{}},
		{both(qos.Limit{Average: 7, Burst: 3}), both(qos.Limit{Average: 7, Burst: 3})},
		{both(qos.Limit{Average: 7, Peak: 7, Burst: 3}), both(qos.Limit{Average: 7, Peak: 7, Burst: 3})},
		{both(qos.Limit{Average: 7, Peak: 9}), both(qos.Limit{Average: 7, Peak: 9})},
		{both(qos.Limit{Peak: 9}), both(qos.Limit{Peak: 9})},
		{both(qos.Limit{Average: 7, Peak: 5, Burst: 3, Floor: 2}), qos.Limits{In: qos.Limit{Average: 5, Burst: 3, Floor: 2}, Out: qos.Limit{Average: 7, Burst: 3, Floor: 2}}},
	} {
		if got := c.said.Kept(); got != c.kept {
			t.Errorf("%+v is kept as %+v, want %+v", c.said, got, c.kept)
		}
	}
}

func TestABucketPassesTenMillisecondsAtOnceAndFramesInAnyCase(t *testing.T) {
	t.Parallel()
	const slow, fast = 1096370, 70167693 // 1 and 64 MiB/s
	const segment = 70664                // of 64 KiB, with its headers
	for name, c := range map[string]struct {
		limit qos.Limit
		mtu   int
		want  host.TBF
	}{
		"none":                   {qos.Limit{Floor: 7}, 0, host.TBF{}},
		"slow":                   {qos.Limit{Average: 1024}, 0, host.TBF{Rate: slow, Buffer: host.Ticks(segment, slow), Peak: host.CutRate, Limit: 40000, Segment: slow / 100}},
		"crawl":                  {qos.Limit{Average: 1}, 0, host.TBF{Rate: 1071, Buffer: host.Ticks(segment, 1071), Peak: host.CutRate, Limit: 40000, Segment: 3028}},
		"fast":                   {qos.Limit{Average: 65536}, 0, host.TBF{Rate: fast, Buffer: host.Ticks(fast/100, fast), Limit: fast / 100}},
		"a peak without a burst": {qos.Limit{Average: 1024, Peak: 4096}, 0, host.TBF{Rate: slow, Buffer: host.Ticks(segment, slow), Peak: host.CutRate, Limit: 40000, Segment: slow / 100}},
		"a burst without a peak": {qos.Limit{Average: 1024, Burst: 1024}, 0, host.TBF{Rate: slow, Buffer: host.Ticks(slow, slow), Peak: host.CutRate, Limit: 40000, Segment: slow / 100}},
		"a slow peak": {
			qos.Limit{Average: 64, Peak: 1024, Burst: 1024},
			0,
			host.TBF{Rate: slow / 16, Buffer: host.Ticks(slow, slow/16), Peak: slow, PeakBuffer: host.Ticks(segment, slow), Limit: 2 * segment},
		},
		"both": {
			qos.Limit{Average: 1024, Peak: 65536, Burst: 1024},
			0,
			host.TBF{Rate: slow, Buffer: host.Ticks(slow, slow), Peak: fast, PeakBuffer: host.Ticks(fast/100, fast), Limit: fast / 100},
		},
	} {
		if d := cmp.Diff(c.want, c.limit.Bucket(c.mtu)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// A frame as large as the MTU passes a bucket and every class, and the smallest rate is one.
func TestEveryFrameFitsThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Uint64Range(1, 1<<32-1)
		l := qos.Limit{Average: rate.Draw(t, "average"), Peak: rate.Draw(t, "peak"), Burst: rapid.Uint64Range(0, 1<<22-1).Draw(t, "burst")}
		mtu := rapid.IntRange(68, 65521).Draw(t, "mtu")
		frame := uint64(mtu + 14)
		b := l.Bucket(mtu)
		if got := host.Bytes(b.Buffer, b.Rate); got < frame && b.Buffer != 1<<32-1 && b.Rate < 1e11 {
			t.Errorf("a bucket of %+v holds %d bytes, and a frame has %d", b, got, frame)
		}
		if uint64(b.Limit) < frame {
			t.Errorf("of %+v no frame can wait", b)
		}
		q := l.Divide(mtu, []qos.Floor{{Class: 20, KiB: l.Average}})
		for _, c := range []host.HTBClass{q.Tree.Whole, q.Tree.Rest, q.Tree.Leaves[0].HTBClass} {
			if c.Rate == 0 || c.Ceil < c.Rate && c != q.Tree.Rest {
				t.Errorf("class %+v of %+v", c, l)
			}
		}
		if q.Tree.RestCut.Segment < uint32(min(frame, 1<<17)) || q.Tree.RestCut.Limit < q.Tree.RestCut.Segment {
			t.Errorf("what waits is cut by %+v", q.Tree.RestCut)
		}
	})
}

func TestWhatFloorsLeaveIsShared(t *testing.T) {
	t.Parallel()
	l := qos.Limit{Average: 65536}
	q := l.Divide(1500, []qos.Floor{{Class: 18, MAC: "52:54:00:00:00:02", KiB: 8192}, {Class: 16, MAC: "52:54:00:00:00:01", KiB: 4096}})
	if got := q.Tree.Rest; got.Rate >= qos.Wire(16, 1500) || got.Ceil != q.Tree.Whole.Rate {
		t.Errorf("the rest is %+v: it has more than what it borrows", got)
	}
	if got := q.Tree.Leaves; len(got) != 2 || got[0].Class != 16 || got[0].Rate != qos.Wire(4096, 1500) || got[0].Ceil != q.Tree.Whole.Rate || got[1].MAC != "52:54:00:00:00:02" {
		t.Errorf("the leaves are %+v", got)
	}
	if rest := l.Divide(1500, []qos.Floor{{Class: 16, KiB: 65536}}).Tree.Rest; rest.Rate == 0 || rest.Ceil != q.Tree.Whole.Ceil {
		t.Errorf("where floors use everything up the rest is %+v", rest)
	}
	if !q.Equal(l.Divide(1500, []qos.Floor{{Class: 16, MAC: "52:54:00:00:00:01", KiB: 4096}, {Class: 18, MAC: "52:54:00:00:00:02", KiB: 8192}})) {
		t.Error("the order of floors makes a difference")
	}
	if (qos.Limit{Peak: 7}).Divide(1500, nil).Tree != nil {
		t.Error("what bounds nothing is a tree")
	}
	burst := qos.Limit{Average: 1024, Peak: 2048, Burst: 4096}.Divide(1500, nil).Tree
	if b := host.Bytes(burst.Whole.RateBuffer, burst.Whole.Rate); b+100 < qos.Wire(4096, 1500) || burst.Whole.Ceil != qos.Wire(2048, 1500) || burst.Rest.Ceil != burst.Whole.Ceil {
		t.Errorf("a burst of 4096 KiB is %d bytes of %+v", b, burst.Whole)
	}
}

func TestClassesAreTheLowestFreeOnesOf16Bits(t *testing.T) {
	t.Parallel()
	used := map[uint16]bool{}
	for want := int(qos.FirstClass); want < 1<<16; want++ {
		c, err := qos.Take(used)
		if err != nil || int(c) != want {
			t.Fatalf("%d, %v; want %d", c, err, want)
		}
		used[c] = true
		if want == 300 {
			break
		}
	}
	for c := range 1 << 16 {
		used[uint16(c)] = true
	}
	if _, err := qos.Take(used); err == nil {
		t.Error("a class was found where all are in use")
	}
	delete(used, host.TreeHandle)
	if c, err := qos.Take(used); err == nil {
		t.Errorf("class %d has the number of the tree", c)
	}
	delete(used, 65534)
	if c, err := qos.Take(used); c != 65534 || err != nil {
		t.Errorf("%d, %v", c, err)
	}
}
