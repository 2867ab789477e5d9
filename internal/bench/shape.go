package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"taproom/internal/host"
	"taproom/internal/network/load"
)

// ShapeRates are the limits of the table that is measured, in KiB/s.
func ShapeRates() []int { return []int{1024, 2048, 4096, 8192, 16384, 32768, 65536} }

// Ways of a guest to the network that limits are measured through.
const (
	throughTap   = "tap"
	throughGuest = "guest"
)

// ShapeWays are all of them: a tap whose other end sends segments of 64 KiB, and a guest of QEMU with virtio-net.
func ShapeWays() []string { return []string{throughTap, throughGuest} }

// Bounds of what can be asked for.
const (
	MostShapeSeconds = 600
	MostShapeRate    = 1 << 22 // KiB/s: 4 GiB/s
)

const (
	shapeMTU = 1500
	// shapeWarmUp is for TCP to find its rate, and for buckets to be empty.
	shapeWarmUp = 2 * time.Second
	// Requests beside a transfer: a hundred a second.
	shapeAsks  = 500
	shapeEvery = 10 * time.Millisecond
)

// shapeLine is a guest whose traffic can be bounded.
type shapeLine interface {
	// bound gives both directions a limit of so many KiB/s; 0 is none.
	bound(ctx context.Context, kib int) error
	// flow begins a transfer. Rate is what passes, in bytes of payload a second.
	flow(ctx context.Context, x load.Transport, out bool, rate float64) (shapeFlow, error)
	// delays asks a service over the link, both ways.
	delays(ctx context.Context) (load.Delays, error)
	close(ctx context.Context) error
}

// shapeFlow is a transfer under way.
type shapeFlow interface {
	// Over is the rate at which payload is received, in bytes a second, for so long after a warm-up.
	Over(ctx context.Context, warmUp, window time.Duration) (float64, error)
	Stop()
}

// shapeBench measures what limits let through.
type shapeBench struct {
	o           Options
	k           *host.Kernel
	report      *Report
	done, total int
}

// runShape measures the traffic that <bandwidth> lets through, in both directions, or with o.Shaped how long limits of many NICs take to set.
func runShape(ctx context.Context, o Options) (*Report, error) {
	if len(o.Shaped) > 0 {
		return runShapeMany(ctx, o)
	}
	b := newShapeBench(o)
	defer b.k.Close()
	for _, way := range ShapeWays() {
		if !slices.Contains(o.Through, way) {
			continue
		}
		line, err := b.line(ctx, way)
		if err != nil {
			b.report.add(nil, Skip{Name: way, Why: err.Error()})
			continue
		}
		failed := b.measure(ctx, way, line)
		if err := errors.Join(ctx.Err(), line.close(context.WithoutCancel(ctx))); err != nil {
			return nil, errors.Join(failed, err)
		}
		if failed != nil { // the other way says something all the same
			b.report.add(nil, Skip{Name: way, Why: failed.Error()})
		}
	}
	b.report.Shape.judge(b.report)
	return b.report, nil
}

func newShapeBench(o Options) *shapeBench {
	b := &shapeBench{o: o, k: host.New(host.Options{}), report: newReport("shape")}
	b.report.Host.QEMU = "none"
	b.report.Shape = &Shape{}
	b.total = len(o.Through) * 2 * (len(o.Rates) + 1) * (len(load.Transports()) + 1)
	return b
}

func (b *shapeBench) line(ctx context.Context, way string) (shapeLine, error) {
	if way == throughTap {
		return newShapeTap(ctx)
	}
	return newShapeGuest(ctx, b)
}

// measure takes all figures of one way: without a limit first, then with each. A transfer of which nothing arrives is a row that says so.
func (b *shapeBench) measure(ctx context.Context, way string, line shapeLine) error {
	for _, kib := range append([]int{0}, b.o.Rates...) {
		if err := line.bound(ctx, kib); err != nil {
			return fmt.Errorf("bound by %d KiB/s: %w", kib, err)
		}
		for _, out := range []bool{true, false} {
			for _, x := range load.Transports() {
				err := b.transfer(ctx, way, line, kib, out, x)
				if errors.Is(err, load.ErrSilent) {
					b.silent(newShapeRow(way, kib, out, x), err)
				} else if err != nil {
					return fmt.Errorf("%v, %s, bound by %d KiB/s: %w", x, direction(out), kib, err)
				}
				b.progress()
			}
			err := b.delay(ctx, way, line, kib, out)
			if errors.Is(err, load.ErrSilent) {
				b.report.add(nil, Skip{Name: ShapeDelay{Through: way, Direction: direction(out), KiB: kib}.name(), Why: "beside a stream of which " + err.Error()})
			} else if err != nil {
				return fmt.Errorf("requests, %s, bound by %d KiB/s: %w", direction(out), kib, err)
			}
			b.progress()
		}
	}
	return nil
}

func (b *shapeBench) progress() {
	b.done++
	b.o.Progress(b.done, b.total)
}

// direction is as a guest sees it.
func direction(out bool) string {
	if out {
		return "outbound"
	}
	return "inbound"
}

// newShapeRow is of a transfer that is still to be measured.
func newShapeRow(way string, kib int, out bool, x load.Transport) ShapeRow {
	return ShapeRow{
		Through: way, Direction: direction(out), KiB: kib, Transport: x.String(),
		Want: megabits(float64(kib<<10) * x.Share(shapeMTU)), tolerance: x.Tolerance(),
	}
}

// silent adds a row of which nothing arrived.
func (b *shapeBench) silent(row ShapeRow, why error) {
	row.Why = why.Error()
	b.report.Shape.Rows = append(b.report.Shape.Rows, row)
	b.report.add(nil, Skip{Name: row.name(), Why: row.Why})
}

// transfer measures one. Where nothing bounds datagrams, a guest that receives them is offered as many as it is found to take, and
// one that sends them more than it can.
func (b *shapeBench) transfer(ctx context.Context, way string, line shapeLine, kib int, out bool, x load.Transport) error {
	row := newShapeRow(way, kib, out, x)
	rate := float64(kib<<10) * x.Share(shapeMTU)
	window := time.Duration(b.o.Seconds) * time.Second
	if kib == 0 {
		rate, window = mostUDP, min(window, 3*time.Second)
		if x.Streams == 0 && !out {
			var err error
			if rate, err = carried(ctx, line, x); err != nil {
				return err
			}
		}
	}
	f, err := line.flow(ctx, x, out, rate)
	if err != nil {
		return err
	}
	defer f.Stop()
	if _, err := f.Over(ctx, shapeWarmUp, 0); err != nil {
		return err
	}
	before, err := b.k.CPUTimes(-1)
	if err != nil {
		return err
	}
	began := time.Now()
	got, err := f.Over(ctx, 0, window)
	if err != nil {
		return err
	}
	after, err := b.k.CPUTimes(-1)
	if err != nil {
		return err
	}
	busy := after.User + after.System - before.User - before.System
	row.Mbits, row.CPU = megabits(got), 100*busy.Seconds()/time.Since(began).Seconds()
	b.report.Shape.Rows = append(b.report.Shape.Rows, row)
	b.report.add([]Series{{Name: row.name(), Unit: "Mbit/s", Samples: []float64{row.Mbits}}})
	return nil
}

// delay asks beside a transfer by one stream, and with nothing beside where there is no limit.
func (b *shapeBench) delay(ctx context.Context, way string, line shapeLine, kib int, out bool) error {
	d := ShapeDelay{Through: way, Direction: direction(out), KiB: kib}
	if kib != 0 {
		f, err := line.flow(ctx, load.Transport{Streams: 1}, out, float64(kib<<10))
		if err != nil {
			return err
		}
		defer f.Stop()
		if _, err := f.Over(ctx, shapeWarmUp, 0); err != nil {
			return err
		}
	}
	got, err := line.delays(ctx)
	if err != nil {
		return err
	}
	d.P50, d.P99, d.Lost = milliseconds(got.Quantile(0.5)), milliseconds(got.Quantile(0.99)), got.Lost
	b.report.Shape.Delays = append(b.report.Shape.Delays, d)
	for name, v := range map[string]float64{"p50": d.P50, "p99": d.P99} {
		b.report.add([]Series{{Name: d.name() + "." + name, Unit: "ms", Samples: []float64{v}}})
	}
	return nil
}

func megabits(bytes float64) float64 { return bytes * 8 / 1e6 }

// limitName is a limit in the names of figures.
func limitName(kib int) string {
	if kib == 0 {
		return "unbounded"
	}
	return strconv.Itoa(kib)
}
