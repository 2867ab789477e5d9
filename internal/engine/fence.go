package engine

import (
	"fmt"
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/host/probe"
)

// tryFences checks whether the kernel supports fences of bridges.
func (e *Engine) tryFences() error {
	e.k.Step("firewall try fences")
	return probe.Fence()
}

// tryFairQueues checks whether the kernel supports fair queues. Where that is not known limits are kept all the same.
func (e *Engine) tryFairQueues() bool {
	e.k.Step("probe fair queue")
	return probe.FairQueue() == nil
}

// fenceProblems name the networks whose isolation the firewall's rules alone make.
func (e *Engine) fenceProblems() []string {
	if e.fabric == nil || e.noFences == nil {
		return nil
	}
	var names []string
	for _, live := range e.activeNetworks() {
		if e.fenceNow(live) != (host.Fence{}) {
			names = append(names, live.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("network %s is isolated by the firewall's rules alone, and is not while somebody removes them: %v", strings.Join(names, ", "), e.noFences)}
}
