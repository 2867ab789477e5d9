package engine

import (
	"context"
	"fmt"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
)

// vcpuRunning is VIR_VCPU_RUNNING, what libvirt says of every virtual CPU that there is.
const vcpuRunning = 1

// vcpuStats are the vcpu.* figures of a domain that runs: how many, and how long each of them has.
func (e *Engine) vcpuStats(ctx context.Context, v *view) []server.Param {
	out := []server.Param{
		remote.UintParam("vcpu.current", uint32(v.run.head.VCPUs)),
		remote.UintParam("vcpu.maximum", uint32(v.run.head.MaxVCPUs)),
	}
	var cpus []struct {
		Index  int `json:"cpu-index"`
		Thread int `json:"thread-id"`
	}
	if err := v.run.mon.Execute(ctx, "query-cpus-fast", nil, &cpus); err != nil {
		return out // it has just ended, or answers nothing: the other figures say so
	}
	for _, c := range cpus {
		prefix := fmt.Sprintf("vcpu.%d.", c.Index)
		out = append(out, remote.IntParam(prefix+"state", vcpuRunning))
		if took, err := e.k.ThreadTime(v.run.rec.PID, c.Thread); err == nil {
			out = append(out, remote.Uint64Param(prefix+"time", uint64(took)))
		}
	}
	return out
}
