package bench

import (
	"context"
	"fmt"
	"time"
)

// copyPeer is libguestfs, which copies the same files.
type copyPeer struct {
	bench     *copyBench
	guestfish *peerGuestfish
}

// up uploads the file into an image that is new.
func (p copyPeer) up(ctx context.Context) (total, net time.Duration, err error) {
	if err := p.bench.image(ctx, "new"); err != nil {
		return 0, 0, err
	}
	return p.timed(ctx, "add /mnt/new\nrun\nmount /dev/sda /\ntime upload /mnt/source /file\nshutdown\n")
}

// down downloads it out of one.
func (p copyPeer) down(ctx context.Context) (total, net time.Duration, err error) {
	if err := p.bench.empty("target", 0); err != nil {
		return 0, 0, err
	}
	total, net, err = p.timed(ctx, "add-ro /mnt/full\nrun\nmount-ro /dev/sda /\ntime download /file /mnt/target\nshutdown\n")
	if err == nil {
		err = same(p.bench.path("source"), p.bench.path("target"))
	}
	return total, net, err
}

// timed runs a script that says how long one thing in it took.
func (p copyPeer) timed(ctx context.Context, script string) (total, net time.Duration, err error) {
	out, total, err := p.guestfish.output(ctx, script)
	if err != nil {
		return 0, 0, err
	}
	var seconds float64
	if _, err := fmt.Sscanf(out, "elapsed time: %f seconds", &seconds); err != nil || seconds <= 0 {
		return 0, 0, fmt.Errorf("guestfish: it said %q, want how long the copy took", out)
	}
	return total, time.Duration(seconds * float64(time.Second)), nil
}
