package state_test

import (
	"testing"

	"taproom/internal/network/state"
	"taproom/internal/network/state/statetest"
)

func TestTheFakeFirewallBehavesAsTheKernels(t *testing.T) {
	t.Parallel()
	statetest.RunFirewall(t, func(*testing.T) state.FirewallBackend { return state.NewFakeFirewall() })
}
