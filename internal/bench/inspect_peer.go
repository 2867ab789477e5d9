package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// peerWorkers is how many libguestfs appliances inspect at a time: each takes half a gigabyte.
const peerWorkers = 2

// beside has libguestfs inspect some of the images, where it is there.
func (b *inspectBench) beside(ctx context.Context, r *Report, o Options) {
	peer, skipped := guestfish(ctx, o.Peers, b.images[0])
	r.Skipped = append(r.Skipped, skipped...)
	if peer == nil {
		return
	}
	const name = "peer.libguestfs"
	each := min(len(b.images), 2*peerWorkers) // it takes many times as long
	began := time.Now()
	err := inParallel(each, func(i int) error { return peer.inspect(ctx, b.images[i], b.found.Systems[0].Name) })
	took := time.Since(began)
	if cerr := peer.close(); err == nil {
		err = cerr
	}
	if err != nil {
		r.Skipped = append(r.Skipped, Skip{Name: name, Why: err.Error()})
		return
	}
	r.add([]Series{{name, "1/s", []float64{float64(each) / took.Seconds()}}})
}

// inspect does to an image what inspectOne does.
func (g *peerGuestfish) inspect(ctx context.Context, image, system string) error {
	out, _, err := g.output(ctx, "add-drive /mnt/"+filepath.Base(image)+" readonly:true format:qcow2\nrun\ninspect-os\nmount-ro /dev/sda /\n"+
		"cat /etc/os-release\ncat /etc/hostname\ninspect-list-applications2 /dev/sda\ncat /etc/fstab\nstatvfs /\nshutdown\n")
	if err == nil && (!strings.Contains(out, system) || !strings.Contains(out, "bavail")) {
		err = fmt.Errorf("guestfish says of %s: %q", image, out)
	}
	return err
}
