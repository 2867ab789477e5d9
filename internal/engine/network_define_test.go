package engine

import (
	"testing"

	"taproom/internal/network/alloc"
	"taproom/internal/spec"
)

func TestANetworkGetsABridgeThatNoOtherNetworkIsToHave(t *testing.T) {
	t.Parallel()
	e := small(t)
	var err error
	if e.bridges, err = alloc.NewNames(bridgeTemplate); err != nil {
		t.Fatal(err)
	}
	// It names its bridge itself, and is not active: there is no link.
	e.networks.add(newNetwork(spec.NewUUID(), "default", &defined{head: definition{Bridge: "virbr0"}}))
	doc, err := e.completeNetwork([]byte("<network><name>other</name></network>"))
	if err != nil {
		t.Fatal(err)
	}
	if doc.Bridge.Name != "virbr1" {
		t.Errorf("its bridge is %s, want virbr1", doc.Bridge.Name)
	}
}
