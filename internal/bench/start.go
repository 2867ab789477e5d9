package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/engine"
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
	d, err := sandbox.Start(ctx, filepath.Join(o.Programs, "taproomd"))
	if err != nil {
		return nil, err
	}
	b := &startBench{daemon: d}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if b.client, err = client.Dial(ctx, engine.NewPaths(d.Root).ControlSocket(), client.Options{}); err != nil {
		return nil, err
	}
	if _, err := b.client.DefineDomain(ctx, benchGuest); err != nil {
		return nil, err
	}
	floor, err := newBareQEMU(ctx, b)
	if err != nil {
		return nil, err
	}
	defer floor.close()
	contenders := []Contender{
		{Name: "floor", Unit: "ms", Run: floor.start},
		{Name: "total", Unit: "ms", Run: b.start},
	}
	peer, skip := startLibvirt(ctx, o.Peers, "peer.libvirt")
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
		if _, err := peer.client.DefineDomain(ctx, benchGuest); err != nil {
			return nil, err
		}
		contenders = append(contenders, Contender{Name: "peer.libvirt", Unit: "ms", Run: func(ctx context.Context) (float64, error) {
			return timeStart(ctx, peer.client)
		}})
	}
	figures, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	share := make([]float64, o.Rounds)
	for i := range share {
		share[i] = b.took[i+1] - floor.took[i+1] // the first round does not count
	}
	figures = append(figures, NewFigure("own", "ms", share))
	v, err := b.client.Version(ctx)
	if err != nil {
		return nil, err
	}
	if skip != nil {
		skipped = append(skipped, *skip)
	}
	return &Report{Bench: "start", Host: thisHost(v.QEMU), Figures: figures, Skipped: skipped}, nil
}

// startBench is our side.
type startBench struct {
	daemon *sandbox.Daemon
	client *client.Client
	took   []float64
}

// start is one start as a client sees it.
func (b *startBench) start(ctx context.Context) (float64, error) {
	took, err := timeStart(ctx, b.client)
	b.took = append(b.took, took)
	return took, err
}

// timeStart starts the guest paused, which is measured, and stops it, which is not.
func timeStart(ctx context.Context, c *client.Client) (float64, error) {
	const paused = 1 // VIR_DOMAIN_START_PAUSED
	dom, err := c.Domain(ctx, "bench")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := c.StartDomain(ctx, dom, paused); err != nil {
		return 0, err
	}
	took := milliseconds(time.Since(began))
	return took, c.DestroyDomain(ctx, dom)
}

func (b *startBench) close(ctx context.Context) error {
	var errs []error
	if b.client != nil {
		_, err := b.client.Apply(ctx, own.ApplyRequest{Remove: true, Documents: []own.Document{{Name: "guest", XML: benchGuest}}})
		errs = append(errs, err, b.client.Close())
	}
	errs = append(errs, b.daemon.Stop(), b.daemon.Remove())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
