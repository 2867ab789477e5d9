package launch

import (
	"context"
	"errors"
	"fmt"
	"os"

	"taproom/internal/appliance/chain"
	"taproom/internal/qemu/qmp"
)

// Attach gives a running appliance a disk, and returns when its kernel has found it. An image that is refused is a *chain.Error; the
// appliance is as it was then.
func (a *Appliance) Attach(ctx context.Context, d Disk) (Device, error) {
	a.attaching.Lock() // the monitor does one at a time anyhow
	defer a.attaching.Unlock()
	target := a.nextTarget()
	if target == 0 {
		return Device{}, fmt.Errorf("attach %s: the appliance has %d disks already, as many as its controller takes", d.Path, lastDisk)
	}
	c, err := chain.Open(ctx, a.l.k, chain.Image{Path: d.Path, Format: d.Format, Write: d.Access.writes(), Within: d.Within})
	if err != nil {
		return Device{}, fmt.Errorf("attach a disk: %w", err)
	}
	defer c.Close() // QEMU has its own descriptors
	var overlay *os.File
	if d.Access == Discard {
		if overlay, err = newOverlay(a.l.k, d.Overlays, c[0].Capacity); err != nil {
			return Device{}, fmt.Errorf("attach %s: %w", d.Path, err)
		}
		defer overlay.Close()
	}
	p := planDisk(target, firstSet+a.sets, d.Access, c, overlay)
	a.sets += len(p.sets)
	if err := a.plug(ctx, p); err != nil {
		return Device{}, fmt.Errorf("attach %s: %w", d.Path, a.r.said(ctx, err))
	}
	a.mu.Lock()
	a.written = a.written || d.Access.writes()
	a.mu.Unlock()
	found, err := a.agent.Await(ctx, p.serial())
	if err != nil {
		return Device{}, fmt.Errorf("attach %s: %w", d.Path, a.r.said(ctx, err))
	}
	return Device{Name: found.Name, Serial: p.serial(), Capacity: c[0].Capacity}, nil
}

// nextTarget is a SCSI target that was never used; 0 when there is none. A guest may still be busy with what was at one before.
func (a *Appliance) nextTarget() int {
	if a.target == lastDisk {
		return 0
	}
	a.target++
	return a.target
}

// plug passes the files and makes nodes and device. What was made goes again when something fails.
func (a *Appliance) plug(ctx context.Context, p diskPlan) (err error) {
	m := a.r.qemu.QMP()
	made := 0
	defer func() {
		if err != nil {
			err = errors.Join(err, unplug(ctx, m, p, made))
		}
	}()
	for _, s := range p.sets {
		for _, f := range s.files {
			if _, err := m.AddFD(ctx, int64(s.id), f.Name(), f); err != nil {
				return err
			}
		}
	}
	for _, n := range p.nodes {
		if err := m.Execute(ctx, "blockdev-add", n, nil); err != nil {
			return err
		}
		made++
	}
	return m.Execute(ctx, "device_add", p.device, nil)
}

// unplug takes back the first nodes of a plan, and its files.
func unplug(ctx context.Context, m *qmp.Client, p diskPlan, nodes int) error {
	if m.Err() != nil {
		return nil // QEMU is gone, and everything with it
	}
	var errs []error
	for i := nodes - 1; i >= 0; i-- {
		errs = append(errs, m.Execute(ctx, "blockdev-del", map[string]any{"node-name": p.nodes[i].Get("node-name")}, nil))
	}
	for _, s := range p.sets {
		err := m.Execute(ctx, "remove-fd", map[string]int{"fdset-id": s.id}, nil)
		var refused *qmp.Error
		if !errors.As(err, &refused) { // it is gone with its last user, or was never made
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
