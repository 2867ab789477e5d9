package clienttest

import (
	"fmt"
	"testing"

	"taproom/internal/api/own"
)

// A port is known to who controls the switch by an id that is made up once: a document that names none keeps it.
func TestApplyingAPortOfOpenVSwitchAgainChangesNothing(t *testing.T) {
	t.Parallel()
	c, sw := serveSwitch(t)
	apply := func(port string) string {
		t.Helper()
		r, err := c.daemon.Client().Apply(t.Context(), own.ApplyRequest{Documents: []own.Document{{Name: "again.xml", XML: fmt.Sprintf(smallGuest, "again", "ovs0", port)}}})
		if err != nil || len(r.Objects) != 1 || r.Objects[0].Error != "" {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Objects[0].Action
	}
	if did := apply(onSwitch); did != "created" {
		t.Errorf("the first time: %s", did)
	}
	id := sw.Ctl("get", "Interface", "vnet0", "external_ids:iface-id")
	for _, same := range []string{onSwitch, "<virtualport type='openvswitch'><parameters/></virtualport>", "<virtualport type='openvswitch'><parameters interfaceid=" + id + "/></virtualport>"} {
		if did := apply(same); did != "unchanged" {
			t.Errorf("again, with %s: %s", same, did)
		}
	}
	if did := apply("<virtualport type='openvswitch'><parameters profileid='gold'/></virtualport>"); did != "changed" {
		t.Errorf("with another profile: %s", did)
	}
	c.do("destroy", "again")
	c.do("start", "again", "--paused")
	name := sw.Ports("ovs0")[0]
	if got := sw.Ctl("get", "Interface", name, "external_ids:iface-id"); got != id {
		t.Errorf("with another profile the id is %s and was %s", got, id)
	}
	c.clean(sw, "again")
}
