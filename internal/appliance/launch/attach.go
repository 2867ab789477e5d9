package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/proto"
	"taproom/internal/qemu/qmp"
)

// Attach gives a running appliance a disk, and returns when its kernel has found it. An image that is refused is a *chain.Error; the
// appliance is as it was then.
func (a *Appliance) Attach(ctx context.Context, d Disk) (Device, error) {
	a.attaching.Lock() // the monitor does one at a time anyhow
	defer a.attaching.Unlock()
	c, err := chain.Open(ctx, a.l.k, chain.Image{Path: d.Path, Format: d.Format, Write: d.Access.writes(), Within: d.Within, Copy: d.Copy})
	if err != nil {
		return Device{}, fmt.Errorf("attach a disk: %w", err)
	}
	defer c.Close() // the machine has its own descriptors
	files, err := c.Stat()
	if err != nil {
		return Device{}, fmt.Errorf("attach %s: %w", d.Path, err)
	}
	a.used = true
	p, err := a.vm.add(ctx, d, c)
	if err != nil {
		return Device{}, fmt.Errorf("attach %s: %w", d.Path, a.vm.said(ctx, err))
	}
	a.mu.Lock()
	a.written = a.written || d.Access.writes()
	a.mu.Unlock()
	found, err := a.await(ctx, p.serial)
	if err != nil {
		err = errors.Join(err, p.takeBack(ctx))
		return Device{}, fmt.Errorf("attach %s: %w", d.Path, a.vm.said(ctx, err))
	}
	return Device{Name: found.Name, Serial: p.serial, Capacity: c[0].Capacity, Files: files}, nil
}

// await waits until the guest has found a disk that was plugged in. It takes some milliseconds; a guest may be busy, or lie.
func (a *Appliance) await(ctx context.Context, serial string) (proto.Device, error) {
	const within = 2 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("the appliance has not found the disk %s within %v", serial, within))
	defer cancel()
	return a.agent.Await(ctx, serial)
}

// add implements vm.
func (r *running) add(ctx context.Context, d Disk, c chain.Chain) (plugged, error) {
	target := r.target + 1
	if target > lastDisk {
		return plugged{}, errFull
	}
	var overlay *os.File
	if d.Access == Discard {
		var err error
		if overlay, err = newOverlay(r.k, d.Overlays, c[0].Capacity); err != nil {
			return plugged{}, err
		}
		defer overlay.Close()
	}
	p := planDisk(target, firstSet+r.sets, d.Access, c, overlay)
	r.sets += len(p.sets)
	err := r.plug(ctx, p)
	if !refused(err) {
		r.target = target // the guest may be busy for long with what was there: nothing else comes to this place
	}
	if err != nil {
		return plugged{}, err
	}
	r.mu.Lock()
	if r.drives == nil {
		r.drives = map[string]string{}
	}
	r.drives[p.serial()] = p.device.Get("drive").(string) // scsiDisk gives it a node
	r.mu.Unlock()
	return plugged{p.serial(), func(ctx context.Context) error { return r.unplug(ctx, p, len(p.nodes)) }}, nil
}

// errFull says that no disk more can be plugged in.
var errFull = fmt.Errorf("the appliance has %d disks already, as many as its controller takes", lastDisk)

// plug passes the files and makes nodes and device. What was made goes again when something fails.
func (r *running) plug(ctx context.Context, p diskPlan) (err error) {
	made := 0
	defer func() {
		if err != nil {
			err = errors.Join(err, r.unplug(ctx, p, made))
		}
	}()
	if made, err = r.addNodes(ctx, p); err != nil {
		return err
	}
	return r.qemu.QMP().Execute(ctx, "device_add", p.device, nil)
}

// addNodes passes the files and makes the nodes, and returns how many it made.
func (r *running) addNodes(ctx context.Context, p diskPlan) (made int, err error) {
	m := r.qemu.QMP()
	for _, s := range p.sets {
		for _, f := range s.files {
			if _, err := m.AddFD(ctx, int64(s.id), f.Name(), f); err != nil {
				return 0, err
			}
		}
	}
	for _, n := range p.nodes {
		if err := m.Execute(ctx, "blockdev-add", n, nil); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}

// takeBack is how long QEMU may take to let go of a disk.
const takeBack = 30 * time.Second

// unplug takes back the device of a plan, of which so many nodes were made, and its files: also when what went wrong is that ctx is
// done. QEMU would have the image open as long as the appliance lives.
func (r *running) unplug(ctx context.Context, p diskPlan, made int) error {
	m := r.qemu.QMP()
	if m.Err() != nil {
		return nil // QEMU is gone and everything with it, or it takes no more commands
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
	defer cancel()
	if made == len(p.nodes) {
		return errors.Join(unlessRefused(r.remove(ctx, p.serial())), r.dropNodes(ctx, p, made))
	}
	return r.dropNodes(ctx, p, made)
}

// dropNodes removes the nodes of a plan, of which so many were made, and its files.
func (r *running) dropNodes(ctx context.Context, p diskPlan, made int) error {
	m := r.qemu.QMP()
	if m.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBack)
	defer cancel()
	node := func(i int) map[string]any { return map[string]any{"node-name": p.nodes[i].Get("node-name")} }
	var errs []error
	if made < len(p.nodes) { // QEMU may have made it, and its answer did not come
		errs = append(errs, unlessRefused(m.Execute(ctx, "blockdev-del", node(made), nil)))
	}
	for i := made - 1; i >= 0; i-- {
		errs = append(errs, m.Execute(ctx, "blockdev-del", node(i), nil))
	}
	for _, s := range p.sets { // one may be gone with its last user
		errs = append(errs, unlessRefused(m.Execute(ctx, "remove-fd", map[string]int{"fdset-id": s.id}, nil)))
	}
	return errors.Join(errs...)
}

// unlessRefused is the error of taking back what may not be there: it was not made, or its maker's answer did not come in time.
func unlessRefused(err error) error {
	if refused(err) {
		return nil
	}
	return err
}

func refused(err error) bool {
	var said *qmp.Error
	return errors.As(err, &said)
}

// remove takes a device away and returns when QEMU has let go of what it had.
func (r *running) remove(ctx context.Context, id string) error {
	gone := make(chan struct{})
	r.mu.Lock()
	if r.leaving == nil {
		r.leaving = map[string]chan struct{}{}
	}
	r.leaving[id] = gone
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.leaving, id)
	}()
	m := r.qemu.QMP()
	if err := m.Execute(ctx, "device_del", map[string]string{"id": id}, nil); err != nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-m.Done():
		return m.Err()
	case <-ctx.Done():
		return fmt.Errorf("wait for QEMU to let go of %s: %w", id, context.Cause(ctx))
	}
}

// left takes a DEVICE_DELETED event. Those without an id are of other things.
func (r *running) left(data json.RawMessage) {
	var e struct {
		Device string `json:"device"`
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if json.Unmarshal(data, &e) != nil {
		return
	}
	if gone, waits := r.leaving[e.Device]; waits {
		close(gone)
		delete(r.leaving, e.Device)
	}
}
