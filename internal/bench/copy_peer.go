package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// copyPeer is libguestfs, which copies the same files.
type copyPeer struct {
	bench     *copyBench
	guestfish *peerGuestfish
}

// up uploads the file into an image that is new, until it is on the disk, as ours does.
func (p copyPeer) up(ctx context.Context) (total, net time.Duration, err error) {
	if err := p.bench.image(ctx, "new"); err != nil {
		return 0, 0, err
	}
	return p.timed(ctx, "add /mnt/new\nrun\nmount /dev/sda /\ntime upload /mnt/source /file\ntime sync\nshutdown\n")
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

// timed runs a script that says how long some things in it took, and adds those up.
func (p copyPeer) timed(ctx context.Context, script string) (total, net time.Duration, err error) {
	out, total, err := p.guestfish.output(ctx, script)
	if err != nil {
		return 0, 0, err
	}
	if net, err = elapsed(out); err != nil {
		return 0, 0, err
	}
	return total, net, nil
}

// elapsed is the sum of what guestfish says that its commands took.
func elapsed(out string) (time.Duration, error) {
	var sum float64
	for line := range strings.Lines(out) {
		var seconds float64
		if _, err := fmt.Sscanf(line, "elapsed time: %f seconds", &seconds); err == nil {
			sum += seconds
		}
	}
	if sum <= 0 {
		return 0, fmt.Errorf("guestfish: it said %q, want how long the copy took", out)
	}
	return time.Duration(sum * float64(time.Second)), nil
}
