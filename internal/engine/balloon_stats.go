package engine

import (
	"context"
	"encoding/json"
	"strconv"

	"taproom/internal/api/server"
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
