package qos_test

import (
	"fmt"
	"testing"
	"time"

	"taproom/internal/network/load"
	"taproom/internal/network/qos"
)

// All rates of the published table, every transport, for ten seconds each, and the delay that a limit adds.
func TestTheWholeTableIsKept(t *testing.T) {
	if !whole() {
		t.Skip("takes half an hour of a machine that does nothing else: make shape")
	}
	for _, name := range []string{"bridge", "macvtap"} {
		for _, out := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/out=%v", name, out), func(t *testing.T) {
				a := attachments()[name](t)
				_, _, limits := a.way(out)
				for kib := uint64(1024); kib <= 65536; kib *= 2 {
					if err := a.bound.Set(limits(kib), mtu); err != nil {
						t.Fatal(err)
					}
					for _, x := range load.Transports() {
						a.exactly(t, x, out, kib)
					}
					a.answers(t, out, kib)
				}
			})
		}
	}
}

// exactly holds a transfer of ten seconds against a limit.
func (a *attachment) exactly(t *testing.T, x load.Transport, out bool, kib uint64) {
	t.Helper()
	f := a.start(t, x, out, kib)
	defer f.Stop()
	got, err := f.Over(t.Context(), 2*time.Second, 10*time.Second)
	share := float64(kib<<10) * x.Share(mtu)
	if err != nil || got < share*(1-x.Tolerance()) || got > share*(1+x.Tolerance()) {
		t.Errorf("%d KiB/s, %v: %.2f %% passed, %v", kib, x, 100*got/share, err)
	}
	t.Logf("%d KiB/s, %v: %.2f %%", kib, x, 100*got/share)
}

// answers holds how long requests take beside a transfer.
func (a *attachment) answers(t *testing.T, out bool, kib uint64) {
	t.Helper()
	f := a.start(t, load.Transport{Streams: 1}, out, kib)
	defer f.Stop()
	if _, err := f.Over(t.Context(), 2*time.Second, 0); err != nil {
		t.Fatal(err)
	}
	d, err := load.Probe(t.Context(), a.far, a.guest, a.place.Addr[0], 1000, 10*time.Millisecond)
	most := 70 * time.Millisecond
	if kib >= 4096 {
		most = 40 * time.Millisecond
	}
	if err != nil || d.Quantile(0.99) > most {
		t.Errorf("%d KiB/s: of 1000 requests 99 %% took up to %v, %d were lost, %v; want at most %v", kib, d.Quantile(0.99), d.Lost, err, most)
	}
	t.Logf("%d KiB/s: requests take %v, 99 %% up to %v", kib, d.Quantile(0.5), d.Quantile(0.99))
}

// A limit that goes down by much keeps what waits.
func TestALimitThatGoesDownGoesOn(t *testing.T) {
	t.Parallel()
	a := onBridge(t)
	set := func(kib uint64) {
		if err := a.bound.Set(qos.Limits{Out: qos.Limit{Average: kib, Peak: 2 * kib, Burst: kib}}, mtu); err != nil {
			t.Fatal(err)
		}
	}
	set(65536)
	f := a.start(t, load.Transport{Streams: 4}, true, 0)
	defer f.Stop()
	for _, kib := range []uint64{32768, 1024, 65536, 512} {
		set(kib)
		passes(t, f, 512<<10)
	}
}

// passes waits until so much more has come.
func passes(t *testing.T, f *load.Flow, more int64) {
	t.Helper()
	want := f.Read().Bytes + more
	for late := time.Now().Add(patience); f.Read().Bytes < want; <-time.After(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d bytes came within %v, want %d: it stands still", f.Read().Bytes-want+more, patience, more)
		}
	}
}
