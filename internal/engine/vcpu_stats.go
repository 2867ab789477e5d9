package engine

import (
	"context"
	"fmt"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/spec"
)

// vcpuRunning is VIR_VCPU_RUNNING, what libvirt says of every virtual CPU that there is.
const vcpuRunning = 1

// vcpuThread is a virtual CPU and the thread of QEMU that plays it.
type vcpuThread struct {
	Index  int `json:"cpu-index"`
	Thread int `json:"thread-id"`
}

// vcpuThreads asks QEMU for them.
func (e *Engine) vcpuThreads(ctx context.Context, run *running) (cpus []vcpuThread, err error) {
	err = run.mon.Execute(ctx, "query-cpus-fast", nil, &cpus)
	return cpus, err
}

// vcpuStats are the vcpu.* figures of a domain that runs: how many, and how long each of them has.
func (e *Engine) vcpuStats(ctx context.Context, v *view) []server.Param {
	out := []server.Param{
		remote.UintParam("vcpu.current", uint32(v.run.head().VCPUs)),
		remote.UintParam("vcpu.maximum", uint32(v.run.head().MaxVCPUs)),
	}
	cpus, err := e.vcpuThreads(ctx, v.run)
	if err != nil {
		return out // it has just ended, or answers nothing: the other figures say so
	}
	for _, c := range cpus {
		prefix := fmt.Sprintf("vcpu.%d.", c.Index)
		out = append(out, remote.IntParam(prefix+"state", vcpuRunning))
		if s, err := e.k.ThreadStat(v.run.rec().PID, c.Thread); err == nil {
			out = append(out, remote.Uint64Param(prefix+"time", uint64(s.Time)))
		}
	}
	return out
}

// VCPUs implements server.DomainData.
func (e *Engine) VCPUs(ctx context.Context, uuid spec.UUID) ([]server.VCPU, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	cpus, err := e.vcpuThreads(ctx, run)
	if err != nil {
		return nil, monitorError(d, "ask for the virtual CPUs of", err)
	}
	var out []server.VCPU
	for _, c := range cpus {
		v := server.VCPU{Number: uint32(c.Index), State: vcpuRunning, CPU: -1}
		if s, err := e.k.ThreadStat(run.rec().PID, c.Thread); err == nil { // it may just have ended
			v.TimeNS, v.CPU = uint64(s.Time), int32(s.CPU)
		}
		out = append(out, v)
	}
	return out, nil
}
