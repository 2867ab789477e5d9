package iptables_test

import (
	"testing"

	"taproom/internal/network/firewall/firewalltest"
)

func TestPacketsFareAsTheSuiteAsks(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			firewalltest.RunTraffic(t, func(t testing.TB) *firewalltest.Host { return inKernel(t, v) })
		})
	}
}
