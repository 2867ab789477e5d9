package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// bareQEMU starts QEMU with the command line of the guest and nothing around it: no launcher, no confinement, links that
// are there already. It is the least that any start can cost.
type bareQEMU struct {
	k      *host.Kernel
	dir    string
	config *qemu.Config
	taps   []*os.File
	took   []float64 // of every measured start, in ms
}

// newBareQEMU compiles a guest that is defined as the daemon does. It makes a link for each NIC.
func newBareQEMU(ctx context.Context, d *ownDaemon, name string, makeTap func(k *host.Kernel, nic int) (*os.File, error)) (*bareQEMU, error) {
	dom, err := d.conn.Domain(ctx, name)
	if err != nil {
		return nil, err
	}
	const inactive = 2 // VIR_DOMAIN_XML_INACTIVE
	xml, err := d.conn.DomainXML(ctx, dom, inactive)
	if err != nil {
		return nil, err
	}
	doc, err := spec.ParseDomain([]byte(xml))
	if err != nil {
		return nil, err
	}
	nics := make([]guest.NICRuntime, len(doc.Devices.Interfaces))
	for i := range nics {
		nics[i].Tap = bareName(i)
	}
	c, err := guest.Compile(doc, guest.Runtime{Accel: "tcg", Dir: d.daemon.Root, QMP: "qmp", NICs: nics, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	q := &bareQEMU{k: host.New(host.Options{}), dir: d.daemon.Root, config: c.Config}
	for i := range nics {
		f, err := makeTap(q.k, i)
		if err != nil {
			q.close()
			return nil, err
		}
		q.taps = append(q.taps, f)
	}
	return q, nil
}

// bareName is what a link of the bare QEMU is called.
func bareName(nic int) string { return fmt.Sprintf("bare%d", nic) }

// bareTap makes a tap that is on no bridge.
func bareTap(k *host.Kernel, nic int) (*os.File, error) {
	t, err := k.CreateTap(host.TapSpec{Name: bareName(nic), VNetHdr: true})
	if err != nil {
		return nil, err
	}
	return t.Files[0], nil
}

func (q *bareQEMU) close() {
	for _, f := range q.taps {
		_ = f.Close()
	}
	q.k.Close()
}

// measure is one start that counts.
func (q *bareQEMU) measure(ctx context.Context) (float64, error) {
	took, err := q.start(ctx)
	q.took = append(q.took, took)
	return took, err
}

// share is what starts took beyond that of bare QEMU in the same round, for the rounds that count: all but the first.
func (q *bareQEMU) share(took []float64) []float64 {
	out := make([]float64, len(took)-1)
	for i := range out {
		out[i] = took[i+1] - q.took[i+1]
	}
	return out
}

// start is one start, from exec to the monitor's greeting.
func (q *bareQEMU) start(ctx context.Context) (took float64, err error) {
	path := filepath.Join(q.dir, "bare.sock")
	listen, err := q.k.ListenUnix(path, 0o600)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer listen.Close()
	conn, err := q.k.DialUnix(ctx, path)
	if err != nil {
		return 0, err
	}
	q.config.QMP = "qmp"
	argv, names, err := q.config.Args(3)
	if err != nil {
		return 0, errors.Join(err, conn.Close())
	}
	files, taps := make([]*os.File, len(names)), q.taps
	for i, name := range names {
		if name == "qmp" {
			files[i] = listen
			continue
		}
		files[i], taps = taps[0], taps[1:] // one of them is as good as another
	}
	began := time.Now()
	p, err := q.k.Start(host.ProcessSpec{
		Path: q.config.Binary, Args: append([]string{q.config.Binary}, argv...),
		Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Files: files, Stderr: os.Stderr,
	})
	if err != nil {
		return 0, errors.Join(err, conn.Close())
	}
	defer func() {
		err = errors.Join(err, q.k.Signal(&p.PIDFD, unix.SIGKILL))
		_, werr := p.Wait(ctx)
		err = errors.Join(err, werr, p.Close())
	}()
	listen.Close() // a QEMU that dies must close the connection
	mon, err := qmp.New(ctx, q.k, conn, path)
	if err != nil {
		return 0, fmt.Errorf("bare QEMU: %w", err)
	}
	took = milliseconds(time.Since(began))
	return took, mon.Close()
}
