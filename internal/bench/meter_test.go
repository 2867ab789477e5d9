package bench

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/own"
)

// counted is a process that counts. Each reading of it allocates.
type counted struct{ own.Counters }

const bytesOfReading = 100

func (p *counted) read(context.Context) (own.Counters, error) {
	p.Allocated += bytesOfReading
	now := p.Counters
	now.Calls = maps.Clone(p.Calls)
	return now, nil
}

func (p *counted) call(name string, bytes uint64) {
	p.Calls[name]++
	p.Allocated += bytes
}

func TestMeter_WaitsForTheLaterPartOfAnOperation(t *testing.T) {
	t.Parallel()
	none, err := watchExecs("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer none.close()
	synctest.Test(t, func(t *testing.T) {
		p := &counted{own.Counters{Calls: map[string]uint64{"link get": 3}}}
		m := &meter{quietFor: time.Second, execs: none, read: p.read}
		got, err := m.measure(t.Context(), func(context.Context) error {
			p.call("link get", 1000)
			p.Netlink++
			time.AfterFunc(900*time.Millisecond, func() { p.call("nft dump", 500) })
			time.AfterFunc(5*time.Second, func() { p.call("sysctl get", 9999) }) // wait: a timer of the process, in the time of synctest
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := cost{netlink: 1, allocated: 1500, calls: map[string]uint64{"link get": 1, "nft dump": 1}}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(cost{})); d != "" {
			t.Errorf("cost (-want +got):\n%s", d)
		}
	})
}

func TestMeter_GivesUpAProcessThatNeverRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &counted{own.Counters{Calls: map[string]uint64{}}}
		m := &meter{quietFor: time.Second, read: func(ctx context.Context) (own.Counters, error) {
			p.call("link get", 0)
			return p.read(ctx)
		}}
		if _, _, err := m.quiet(t.Context()); err == nil || !strings.Contains(err.Error(), "map[link get:1]") {
			t.Errorf("error %v, want one with the calls", err)
		}
	})
}

func TestCallsSince_NamesAreFreeOfWhatIsRandom(t *testing.T) {
	t.Parallel()
	before := own.Counters{Calls: map[string]uint64{"link get": 2, "tap create": 1}}
	after := own.Counters{Calls: map[string]uint64{
		"link get": 5, "tap create": 1, "file write 375bae0f-5bcd-45fb-a90f-6450edce3762.state": 1,
		"file write 8ae4d9ff-3b06-4a64-a4a4-0d1b3b1b1b1b.state": 2, "file create root-3987701640": 1, "file open vnet12": 1,
		"file stat bench.log": 8, "file stat bench.qcow2": 2,
	}}
	want := map[string]uint64{"link get": 3, "file write *.state": 3, "file create root-*": 1, "file open vnet12": 1, "file stat bench.log": 1, "file stat bench.qcow2": 2}
	if d := cmp.Diff(want, callsSince(before, after)); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func TestSummarise_LeavesOutTheCallsOfTimers(t *testing.T) {
	t.Parallel()
	round := func(bytes, netlink uint64, calls map[string]uint64) cost {
		return cost{programs: 1, allocated: bytes, netlink: netlink, calls: calls}
	}
	got := summarise(guestStart, []cost{
		round(500, 9, map[string]uint64{"link get": 4, "tap create": 1, "sysctl get": 10}),
		round(100, 7, map[string]uint64{"link get": 2, "tap create": 1}),
		round(400, 8, map[string]uint64{"link get": 3, "tap create": 1}),
		round(60, 7, map[string]uint64{"link get": 2, "tap create": 1}),
		round(110, 7, map[string]uint64{"link get": 2, "tap create": 1}),
	})
	want := Operation{Name: guestStart, Programs: 1, HostCalls: 3, Netlink: 7, Allocated: 100, Calls: map[string]uint64{"link get": 2, "tap create": 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
}
