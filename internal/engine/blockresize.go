package engine

import (
	"context"
	"math"

	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// sectorBytes is what every image is counted in.
const sectorBytes = 512

// ResizeBlock implements server.Devices.
func (e *Engine) ResizeBlock(ctx context.Context, uuid spec.UUID, device string, bytes uint64) error {
	return e.control(ctx, uuid, "resize a disk of", func(ctx context.Context, d *domain, run *running) error {
		if bytes > math.MaxInt64-sectorBytes {
			return virterr.New(virterr.Overflow, "disk '%s' of domain '%s': %d bytes are more than any disk has", device, d.label, bytes)
		}
		now := run.hardware()
		c, err := e.compileGuest(now.doc, now.rt)
		if err != nil {
			return err
		}
		for _, k := range now.doc.Devices.Disks {
			if path := sourcePath(k); path == "" || device != k.Target.Dev && device != path {
				continue
			}
			for _, p := range c.Config.Devices {
				if p.Get("id") == k.Alias.Name {
					size := (bytes + sectorBytes - 1) / sectorBytes * sectorBytes
					return monitorError(d, "resize a disk of", run.mon.Execute(ctx, "block_resize", map[string]any{"node-name": p.Get("drive"), "size": size}, nil))
				}
			}
		}
		return noDisk(d, device)
	})
}
