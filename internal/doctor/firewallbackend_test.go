package doctor_test

import (
	"testing"

	"taproom/internal/doctor"
)

// A network without its rules is nothing that is in order.
func TestFirewallBackend_NetworksWithoutRulesAreAWarning(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	e.Group = 4711
	look := func() doctor.Finding { return one(t, doctor.Run(t.Context(), e), "firewall-backend") }
	if f := look(); f.Status != doctor.OK || f.Evidence != "there is no network, and no rules of one" {
		t.Errorf("without a network: %+v", f)
	}
	ns.Shell("ip link add virbr0 group 4711 type bridge; ip link set virbr0 alias taproom:x; ip link add br0 type bridge")
	if f := look(); f.Status != doctor.Warning || f.Evidence != "there are no rules of networks, though their bridges are there: virbr0" || f.Remedy == "" {
		t.Errorf("with a network: %+v", f)
	}
	ns.Shell("nft add table ip taproom")
	if f := look(); f.Status != doctor.OK {
		t.Errorf("with rules: %+v", f)
	}
	ns.Shell("nft delete table ip taproom; ip link delete virbr0; ip link delete br0")
}
