package crowdtest

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
)

func TestAFullBridgeIsNamedAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	links(d)
	const most = 1023
	k := d.NS.Kernel()
	bridge, err := k.LinkByName("crowdbr")
	if err != nil {
		t.Fatal(err)
	}
	var others []int
	for i := range most - 1 {
		tap, err := k.CreateTap(host.TapSpec{Name: fmt.Sprintf("full%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		defer tap.Close()
		others = append(others, tap.Index)
		if err := k.SetMaster(tap.Index, bridge.Index); err != nil {
			t.Fatalf("port %d: %v", i, err)
		}
	}
	c := d.Client()
	dom, err := c.DefineDomain(t.Context(), withNICs("full", 2, 0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.StartDomain(t.Context(), dom, paused)
	if want := "bridge crowdbr is full: it has 1023 ports, and Linux gives a bridge no more; plug the NIC into another bridge"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a guest with two NICs for one port: got %v, want %q", err, want)
	}
	if a, b := nics(d); a != most-1 || b != 0 {
		t.Errorf("%d ports and %d macvtaps are there, want what there was", a, b)
	}
	if err := c.UndefineDomain(t.Context(), dom, 0); err != nil {
		t.Error(err)
	}
	if err := k.DeleteLinks(1, others); err != nil { // all at once: closing each would take it 20 ms
		t.Error(err)
	}
	nothingIsLeft(t, d)
}
