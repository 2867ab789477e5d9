package engine

import (
	"context"
	"encoding/json"
	"strconv"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// balloonStat is one figure that a guest's balloon driver reports.
type balloonStat struct {
	name  string // in virConnectGetAllDomainStats, behind "balloon."
	tag   int32  // in virDomainMemoryStats
	value uint64
}

// balloonFigures are those that libvirt has names for, with QEMU's name and unit of each.
var balloonFigures = []struct {
	qemu string
	name string
	tag  int32
	unit uint64
}{
	{"stat-swap-in", "swap_in", server.MemoryStatSwapIn, 1024},
	{"stat-swap-out", "swap_out", server.MemoryStatSwapOut, 1024},
	{"stat-major-faults", "major_fault", server.MemoryStatMajorFault, 1},
	{"stat-minor-faults", "minor_fault", server.MemoryStatMinorFault, 1},
	{"stat-free-memory", "unused", server.MemoryStatUnused, 1024},
	{"stat-total-memory", "available", server.MemoryStatAvailable, 1024},
	{"stat-available-memory", "usable", server.MemoryStatUsable, 1024},
	{"stat-disk-caches", "disk_caches", server.MemoryStatDiskCaches, 1024},
}

// balloonStats are what the guest's balloon driver reports, where the document asks for a period. There is nothing
// without a balloon, and before the first report.
func (e *Engine) balloonStats(ctx context.Context, run *running) []balloonStat {
	var reply struct {
		Stats      map[string]json.Number `json:"stats"`
		LastUpdate uint64                 `json:"last-update"`
	}
	args := map[string]string{"path": "/machine/peripheral/balloon0", "property": "guest-stats"}
	if err := run.mon.Execute(ctx, "qom-get", args, &reply); err != nil || reply.LastUpdate == 0 {
		return nil
	}
	var out []balloonStat
	for _, f := range balloonFigures {
		v, err := strconv.ParseUint(reply.Stats[f.qemu].String(), 10, 64)
		if err == nil && v != 1<<64-1 { // all ones, or -1: the guest does not say
			out = append(out, balloonStat{f.name, f.tag, v / f.unit})
		}
	}
	return append(out, balloonStat{"last-update", server.MemoryStatLastUpdate, reply.LastUpdate})
}

// SetMemoryStatsPeriod implements server.DomainData. Live it asks the balloon at once, and the document says so from then on.
func (e *Engine) SetMemoryStatsPeriod(ctx context.Context, uuid spec.UUID, seconds int32, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	j, err := d.slot.BeginWithin(ctx, answerWithin, "set the period of memory statistics of domain '"+d.label+"'")
	if err != nil {
		return virterr.Wrap(virterr.OperationTimeout, err)
	}
	defer j.End()
	return e.restate(d, flags, func(doc *spec.Domain) error { return setPeriod(doc, seconds) }, func(run *running, doc *spec.Domain) error {
		args := map[string]any{
			"path": "/machine/peripheral/" + doc.Devices.MemBalloon.Alias.Name, "property": "guest-stats-polling-interval", "value": seconds,
		}
		return monitorError(d, "set the period of memory statistics of", run.mon.Execute(ctx, "qom-set", args, nil))
	})
}

// setPeriod changes a document. Only a virtio balloon is asked for anything.
func setPeriod(doc *spec.Domain, seconds int32) error {
	b := doc.Devices.MemBalloon
	switch {
	case b == nil || b.Model == "none":
		return virterr.New(virterr.OperationInvalid, "domain '%s' has no memory balloon, which would say how its memory is used", doc.Name)
	case seconds < 0:
		return virterr.New(virterr.InvalidArg, "a period of %d seconds is none", seconds)
	}
	balloon := *b
	balloon.Stats = &spec.BalloonStats{Period: strconv.Itoa(int(seconds))}
	if seconds == 0 {
		balloon.Stats = nil
	}
	doc.Devices.MemBalloon = &balloon
	return nil
}
