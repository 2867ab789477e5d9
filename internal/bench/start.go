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
// (the floor), and by libvirt where it can be had.
func runStart(ctx context.Context, o Options) (r *Report, err error) {
	if err := sandbox.IP(ctx, "link", "add", benchBridge, "type", "bridge"); err != nil {
		return nil, err
	}
	d, err := startOwn(ctx, o.Programs)
	if err != nil {
		return nil, err
	}
	b := &startBench{own: d, stages: map[string][]float64{}}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if _, err := d.conn.DefineDomain(ctx, benchGuest); err != nil {
		return nil, err
	}
	if b.floor, err = newBareQEMU(ctx, d); err != nil {
		return nil, err
	}
	defer b.floor.close()
	contenders := []Contender{
		{Name: "floor", Unit: "ms", Run: b.floor.start},
		{Name: "total", Unit: "ms", Run: b.start},
	}
	peer, skip := startLibvirt(ctx, o.Peers)
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
		if _, err := peer.conn.DefineDomain(ctx, benchGuest); err != nil {
			return nil, err
		}
		contenders = append(contenders, Contender{Name: "peer.libvirt", Unit: "ms", Run: func(ctx context.Context) (float64, error) {
			return timeStart(ctx, peer.conn, nil)
		}})
	}
	figures, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	v, err := d.conn.Version(ctx)
	if err != nil {
		return nil, err
	}
	if skip != nil {
		skipped = append(skipped, *skip)
	}
	return &Report{Bench: "start", Host: thisHost(v.QEMU), Figures: append(figures, b.figures()...), Skipped: skipped}, nil
}

// startBench is our side and the floor under it.
type startBench struct {
	own    *ownDaemon
	floor  *bareQEMU
	took   []float64
	names  []string // of stages, in their order
	stages map[string][]float64
}

// start is one start as a client sees it.
func (b *startBench) start(ctx context.Context) (float64, error) {
	took, err := timeStart(ctx, b.own.conn, b.trace)
	b.took = append(b.took, took)
	return took, err
}

// trace keeps what the daemon tells of the start.
func (b *startBench) trace(ctx context.Context) error {
	t, err := b.own.conn.Trace(ctx, "bench")
	if err != nil {
		return err
	}
	for _, s := range t.Spans {
		if b.stages[s.Name] == nil {
			b.names = append(b.names, s.Name)
		}
		b.stages[s.Name] = append(b.stages[s.Name], float64(s.Took)/1000)
	}
	return nil
}

// figures are what follows from the rounds that count, which are all but the first: our share, which is what a start
// takes beyond the floor of its round, and the stages that the daemon tells of.
func (b *startBench) figures() []Figure {
	share := make([]float64, len(b.took)-1)
	for i := range share {
		share[i] = b.took[i+1] - b.floor.took[i+1]
	}
	out := []Figure{NewFigure("own", "ms", share)}
	for _, name := range b.names {
		if samples := b.stages[name][1:]; len(samples) > 0 {
			out = append(out, NewFigure("stage."+name, "ms", samples))
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

// close stops the guest, undefines it and ends the daemon.
func (b *startBench) close(ctx context.Context) error {
	_, err := b.own.conn.Apply(ctx, own.ApplyRequest{Remove: true, Documents: []own.Document{{Name: "guest", XML: benchGuest}}})
	if err := errors.Join(err, b.own.close()); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
