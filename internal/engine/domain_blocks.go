package engine

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// blockDevice is what QEMU counts of a disk (query-blockstats).
type blockDevice struct {
	QDev  string `json:"qdev"` // id of the device, or its path in the object tree
	Stats struct {
		ReadBytes   int64 `json:"rd_bytes"`
		ReadOps     int64 `json:"rd_operations"`
		ReadNS      int64 `json:"rd_total_time_ns"`
		WriteBytes  int64 `json:"wr_bytes"`
		WriteOps    int64 `json:"wr_operations"`
		WriteNS     int64 `json:"wr_total_time_ns"`
		FlushOps    int64 `json:"flush_operations"`
		FlushNS     int64 `json:"flush_total_time_ns"`
		FailedRead  int64 `json:"failed_rd_operations"`
		FailedWrite int64 `json:"failed_wr_operations"`
	} `json:"stats"`
}

// queryBlocks asks QEMU and returns its answer by the alias of the disk.
func (e *Engine) queryBlocks(ctx context.Context, d *domain, run *running) (map[string]blockDevice, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var reply []blockDevice
	if err := run.mon.Execute(ctx, "query-blockstats", nil, &reply); err != nil {
		return nil, monitorError(d, "read the disk counters of", err)
	}
	out := map[string]blockDevice{}
	for _, b := range reply {
		out[aliasOf(b.QDev)] = b
	}
	return out, nil
}

// blockStats are the block.* figures. Without QEMU's answer they lack its counters.
func (e *Engine) blockStats(ctx context.Context, d *domain, v *view) []server.Param {
	disks := v.run.live(false).Devices.Disks
	var counted map[string]blockDevice
	if len(disks) > 0 {
		counted, _ = e.queryBlocks(ctx, d, v.run)
	}
	return e.blockParams(disks, counted)
}

// blockParams are the block.* figures of disks: sizes, and what QEMU counted where it did.
func (e *Engine) blockParams(disks []spec.Disk, counted map[string]blockDevice) []server.Param {
	out := []server.Param{remote.UintParam("block.count", uint32(len(disks)))}
	for i, disk := range disks {
		prefix := fmt.Sprintf("block.%d.", i)
		out = append(out, remote.StringParam(prefix+"name", disk.Target.Dev))
		if path := sourcePath(disk); path != "" {
			out = append(out, remote.StringParam(prefix+"path", path))
		}
		if b, ok := counted[diskAlias(disk)]; ok {
			for _, f := range []struct {
				name  string
				value int64
			}{
				{"rd.reqs", b.Stats.ReadOps},
				{"rd.bytes", b.Stats.ReadBytes},
				{"rd.times", b.Stats.ReadNS},
				{"wr.reqs", b.Stats.WriteOps},
				{"wr.bytes", b.Stats.WriteBytes},
				{"wr.times", b.Stats.WriteNS},
				{"fl.reqs", b.Stats.FlushOps},
				{"fl.times", b.Stats.FlushNS},
			} {
				out = append(out, remote.Uint64Param(prefix+f.name, uint64(f.value)))
			}
		}
		if i, err := e.sizesOf(disk); err == nil {
			out = append(out, remote.Uint64Param(prefix+"allocation", i.Allocation),
				remote.Uint64Param(prefix+"capacity", i.Capacity), remote.Uint64Param(prefix+"physical", i.Physical))
		}
	}
	return out
}

// BlockStats implements server.DomainData. The device is a target (vda) or a path; "" is all disks together.
func (e *Engine) BlockStats(ctx context.Context, uuid spec.UUID, device string) (server.BlockStats, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.BlockStats{}, err
	}
	run, err := d.running()
	if err != nil {
		return server.BlockStats{}, err
	}
	counted, err := e.queryBlocks(ctx, d, run)
	if err != nil {
		return server.BlockStats{}, err
	}
	var s server.BlockStats
	found := device == ""
	for _, disk := range run.live(false).Devices.Disks {
		if device != "" && device != disk.Target.Dev && device != sourcePath(disk) {
			continue
		}
		found = true
		b := counted[diskAlias(disk)].Stats
		s.ReadRequests += b.ReadOps
		s.ReadBytes += b.ReadBytes
		s.WriteRequests += b.WriteOps
		s.WriteBytes += b.WriteBytes
		s.Errors += b.FailedRead + b.FailedWrite
		s.ReadNS += b.ReadNS
		s.WriteNS += b.WriteNS
		s.FlushRequests += b.FlushOps
		s.FlushNS += b.FlushNS
	}
	if !found {
		return s, noDisk(d, device)
	}
	return s, nil
}

// BlockInfo implements server.DomainData.
func (e *Engine) BlockInfo(ctx context.Context, uuid spec.UUID, device string) (server.BlockInfo, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return server.BlockInfo{}, err
	}
	doc, err := e.document(d)
	if err != nil {
		return server.BlockInfo{}, err
	}
	for _, disk := range doc.Devices.Disks {
		path := sourcePath(disk)
		if path == "" || device != disk.Target.Dev && device != path {
			continue
		}
		i, err := e.sizesOf(disk)
		if err != nil {
			return server.BlockInfo{}, virterr.New(virterr.SystemError, "cannot measure disk '%s' of domain '%s': %w", device, d.label, err)
		}
		return i, nil
	}
	return server.BlockInfo{}, noDisk(d, device)
}

// sizesOf measures what is behind a disk. How large a disk its guest sees, a qcow2 image says itself.
func (e *Engine) sizesOf(disk spec.Disk) (server.BlockInfo, error) {
	path := sourcePath(disk)
	use, err := e.k.FileUse(path)
	if err != nil {
		return server.BlockInfo{}, err
	}
	i := server.BlockInfo{Allocation: use.Allocation, Capacity: use.Capacity, Physical: use.Capacity}
	if disk.Driver == nil || disk.Driver.Type != "qcow2" {
		return i, nil
	}
	f, err := e.k.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return i, err
	}
	defer f.Close()
	i.Capacity, err = guest.VirtualSize(f)
	return i, err
}

func noDisk(d *domain, device string) error {
	return virterr.New(virterr.InvalidArg, "domain '%s' has no disk '%s'", d.label, device)
}

// sourcePath is the file or device behind a disk, "" for an empty drive.
func sourcePath(disk spec.Disk) string {
	switch {
	case disk.Source == nil:
		return ""
	case disk.Source.Dev != "":
		return disk.Source.Dev
	}
	return disk.Source.File
}

// aliasOf is the id within a path of QEMU's object tree (/machine/peripheral/virtio-disk0/virtio-backend), or what was
// given when it is an id already.
func aliasOf(qdev string) string {
	id, ok := strings.CutPrefix(qdev, "/machine/peripheral/")
	if !ok {
		return qdev
	}
	id, _, _ = strings.Cut(id, "/")
	return id
}

func diskAlias(disk spec.Disk) string {
	if disk.Alias == nil {
		return ""
	}
	return disk.Alias.Name
}
