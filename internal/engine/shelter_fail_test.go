package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

// A bridge that is not there is made by others; one that cannot be closed is the administrator's to know, by its name.
func TestShelter_LogsEachBridgeThatCannotBeClosed(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link virbr-*")
	e := small(t)
	var log bytes.Buffer
	e.log = slog.New(slog.NewTextHandler(&log, nil))
	e.k, e.fabric = ns.Kernel(), &fabric{fw: &meanwhile{}, helper: &helperService{}}
	labNetwork(t, e) // has no bridge
	for _, name := range []string{"one", "two"} {
		doc, err := spec.ParseNetwork([]byte(`<network><name>` + name + `</name><uuid>` + spec.NewUUID().String() + `</uuid><forward mode='nat'/>
			<bridge name='virbr-` + name + `' stp='off' delay='0'/><mac address='52:54:00:00:00:11'/><ip address='192.168.132.1' netmask='255.255.255.0'/></network>`))
		if err != nil {
			t.Fatal(err)
		}
		n := newNetwork(*doc.UUID, doc.Name, nil)
		e.networks.add(n)
		n.update(func(v *netView) { v.live = doc })
		want, err := e.compileNetwork(doc)
		if err != nil {
			t.Fatal(err)
		}
		want = state.State{Bridges: want.Bridges}
		if _, err := e.converge(t.Context(), want, want.Scope()); err != nil {
			t.Fatal(err)
		}
	}
	logged := func(name string) int {
		return strings.Count(log.String(), "the bridge of network '"+name+"' cannot be closed")
	}
	ns.Run("tc", "qdisc", "add", "dev", "virbr-one", "ingress") // in the place of the qdisc that fences need
	e.protected(false, e.healer.lossesNow())
	e.shelter()
	if logged("one") != 1 || !strings.Contains(log.String(), "virbr-one: ") || logged("two") != 0 || logged("lab") != 0 {
		t.Errorf("while one bridge is missing and another cannot be closed:\n%s", &log)
	}
	ns.Run("tc", "qdisc", "del", "dev", "virbr-two", "clsact")
	ns.Run("tc", "qdisc", "add", "dev", "virbr-two", "ingress")
	e.shelter()
	if logged("one") != 1 || logged("two") != 1 {
		t.Errorf("when a second one cannot be closed:\n%s", &log)
	}
	for _, name := range []string{"one", "two"} {
		ns.Run("tc", "qdisc", "del", "dev", "virbr-"+name, "ingress")
	}
	e.shelter()
	if wrong, failed := e.misfenced(); len(wrong) > 0 || len(failed) != 1 {
		t.Errorf("in the end %v are open, %v", wrong, failed)
	}
}
