package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/sandbox"
)

// The guest that is started: as little of a guest as has a NIC, so that what is measured is the way to it.
const (
	benchBridge = "benchbr"
	benchGuest  = `<domain type='qemu'><name>bench</name><uuid>8ae4d9ff-3b06-4a64-a4a4-0d1b3b1b1b1b</uuid><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices><controller type='usb' model='none'/><memballoon model='none'/>
    <interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='benchbr'/><model type='virtio'/></interface></devices></domain>`
)

// runStart measures the start of a paused guest with one NIC: by a client of ours, by bare QEMU with the same command line
// (the floor), and by libvirt and another build of taproom where they can be had.
func runStart(ctx context.Context, o Options) (r *Report, err error) {
	if err := sandbox.IP(ctx, "link", "add", benchBridge, "type", "bridge"); err != nil {
		return nil, err
	}
	r = newReport("start")
	b := &startBench{}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	for _, build := range o.builds() {
		if err := b.add(ctx, build); err != nil {
			return nil, err
		}
	}
	if b.floor, err = newBareQEMU(ctx, b.sides[0].own, "bench", bareTap); err != nil {
		return nil, err
	}
	contenders := []Contender{{Name: "floor", Unit: "ms", Run: b.floor.measure}}
	for _, s := range b.sides {
		contenders = append(contenders, Contender{Name: s.prefix + "total", Unit: "ms", Run: s.start})
	}
	peer, skip := startLibvirt(ctx, o.Peers)
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
		if _, err := peer.conn.DefineDomain(ctx, benchGuest); err != nil {
			return nil, err
		}
		contenders = append(contenders, Contender{Name: "peer.libvirt", Unit: "ms", Optional: true, Run: func(ctx context.Context) (float64, error) {
			return timeStart(ctx, peer.conn, nil)
		}})
	}
	all, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	v, err := b.sides[0].own.conn.Version(ctx)
	if err != nil {
		return nil, err
	}
	r.Host.QEMU = v.QEMU
	for _, s := range b.sides {
		all = append(all, s.derived(b.floor)...)
	}
	r.add(all, append(skipped, skip...)...)
	return r, nil
}

// startBench is what the benchmark runs.
type startBench struct {
	sides []*startSide
	floor *bareQEMU
}

// add starts a daemon of ours and defines the guest.
func (b *startBench) add(ctx context.Context, build build) error {
	d, err := startOwn(ctx, build.programs)
	if err != nil {
		return err
	}
	b.sides = append(b.sides, &startSide{prefix: build.prefix, own: d, stages: map[string][]float64{}})
	_, err = d.conn.DefineDomain(ctx, benchGuest)
	return err
}

// close stops the guests, undefines them and ends the daemons.
func (b *startBench) close(ctx context.Context) error {
	var errs []error
	for _, s := range b.sides {
		_, err := s.own.conn.Apply(ctx, own.ApplyRequest{Remove: true, Documents: []own.Document{{Name: "guest", XML: benchGuest}}})
		errs = append(errs, err, s.own.close(ctx))
	}
	if b.floor != nil {
		b.floor.close()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}

// startSide is a daemon of ours.
type startSide struct {
	prefix string
	own    *ownDaemon
	took   []float64 // of every round
	names  []string  // of stages, in their order
	stages map[string][]float64
}

// start is one start as a client sees it.
func (s *startSide) start(ctx context.Context) (float64, error) {
	took, err := timeStart(ctx, s.own.conn, s.trace)
	s.took = append(s.took, took)
	return took, err
}

// trace keeps what the daemon tells of the start.
func (s *startSide) trace(ctx context.Context) error {
	t, err := s.own.conn.Trace(ctx, "bench")
	if err != nil {
		return err
	}
	for _, span := range t.Spans {
		if s.stages[span.Name] == nil {
			s.names = append(s.names, span.Name)
		}
		s.stages[span.Name] = append(s.stages[span.Name], float64(span.Took)/1000)
	}
	return nil
}

// derived is what follows from the rounds that count, which are all but the first: our share, which is what a start takes
// beyond the floor of its round, and the stages that the daemon tells of.
func (s *startSide) derived(floor *bareQEMU) []Series {
	out := []Series{{Name: s.prefix + "own", Unit: "ms", Samples: floor.share(s.took)}}
	for _, name := range s.names {
		if samples := s.stages[name][1:]; len(samples) > 0 {
			out = append(out, Series{Name: s.prefix + "stage." + name, Unit: "ms", Samples: samples})
		}
	}
	return out
}

const startPaused = 1 // VIR_DOMAIN_START_PAUSED

// timeStart starts the guest paused, which is measured, looks at it, and stops it, which is not.
func timeStart(ctx context.Context, c *client.Client, look func(context.Context) error) (float64, error) {
	dom, err := c.Domain(ctx, "bench")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := c.StartDomain(ctx, dom, startPaused); err != nil {
		return 0, err
	}
	took := milliseconds(time.Since(began))
	if look != nil {
		err = look(ctx)
	}
	return took, errors.Join(err, c.DestroyDomain(ctx, dom))
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
