package agent

import (
	"strings"
	"testing"

	"taproom/internal/appliance/wire"
	"taproom/internal/host/hosttest"
)

func TestALinkGetsAnotherAddressAndJoinsGroups(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link d0")
	ns.Run("ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1")
	const mac, group = "52:54:00:00:00:99", "33:33:00:00:00:77"
	every := true
	ns.Do(func() {
		for i, h := range []wire.Hear{{Link: "d0", MAC: mac}, {Link: "d0", Addresses: []string{group}}, {Link: "d0", Addresses: []string{group}, Every: &every}} {
			if _, err := hear(h); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		for _, h := range []wire.Hear{{Link: "none", MAC: mac}, {Link: "d0", MAC: "none"}, {Link: "d0", Addresses: []string{"none"}}} {
			if _, err := hear(h); err == nil {
				t.Errorf("%+v: no error", h)
			}
		}
	})
	if link := ns.Run("ip", "link", "show", "d0"); !strings.Contains(link, mac) || !strings.Contains(link, "ALLMULTI") {
		t.Errorf("link: %s", link)
	}
	if got := ns.Run("bridge", "fdb", "show", "dev", "d0"); !strings.Contains(got, group+" self") {
		t.Errorf("it takes frames for %s", got)
	}
	ns.Run("ip", "link", "del", "d0")
}
