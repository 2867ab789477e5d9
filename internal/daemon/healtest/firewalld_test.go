package healtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host/sysbus"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

// Whatever firewalld does, connections through networks live on, new ones are possible soon after, and the rules stay as they
// were. It may do so as often as it likes: that is no quarrel.
func TestConnectionsLiveOnWhateverFirewalldDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, backend, settings string }{
		{"nftables", firewalldtest.NFTables, ""}, {"iptables", firewalldtest.IPTables, ""}, {"nftables beside shared tables", firewalldtest.NFTables, shared},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := daemontest.Prepare(t)
			fwd := firewalldtest.StartBus(t, d.NS, c.backend)
			w := newWorldOf(t, d, fmt.Sprintf("system_bus = '%s'\n", fwd.Socket)+c.settings)
			v4, v6 := w.connect(w.guest, w.away, awayAddr, 2*patience), w.connect(w.guest, w.away, awayAddr6, 2*patience)
			before := w.state()
			bound := func() bool {
				var links []string
				err := fwd.Try("zone.getInterfaces", &links, firewalld.Zone)
				return err == nil && slices.Equal(slices.Sorted(slices.Values(links)), []string{"virbr-one", "virbr-two"})
			}
			restart := func() { fwd.StopDaemon(); fwd.StartDaemon() }
			for _, step := range []struct {
				name string
				does func()
			}{
				{"it comes", fwd.StartDaemon},
				{"it reloads", fwd.Reload},
				{"it reloads again", fwd.Reload},
				{"and again", fwd.Reload},
				{"and once more", fwd.Reload},
				{"it is restarted", restart},
				{"somebody takes a bridge out", func() { fwd.Call("zone.removeInterface", new(string), firewalld.Zone, "virbr-one") }},
			} {
				step.does()
				took := w.comes("bridges are in their zone after: "+step.name, bound)
				w.comes("all is as it was after: "+step.name, func() bool { return w.state() == before })
				silence4, _ := w.goesOn(v4)
				silence6, _ := w.goesOn(v6)
				t.Logf("%s: as before after %v; silence %v by IPv4, %v by IPv6", step.name, took.Round(time.Millisecond), silence4, silence6)
				w.goesOn(w.connect(w.guest, w.away, awayAddr, 2*patience))
				w.goesOn(w.connect(w.guest, w.away, awayAddr6, 2*patience))
			}
			w.comes("nothing is wrong", func() bool { return w.problems() == "" }) // that firewalld was too busy to say where bridges are passes
			fwd.StopDaemon()
			w.goesOn(v4)
			w.goesOn(v6)
			w.goesOn(w.connect(w.guest, w.away, awayAddr, 2*patience))
		})
	}
}

// What firewalld refuses to tell is a problem until it does, and then bridges are put into their zones, though nothing tells that
// it can be asked again.
func TestAFirewalldThatCouldNotBeAskedIsAskedAgain(t *testing.T) {
	t.Parallel()
	d := daemontest.Prepare(t)
	fwd := firewalldtest.Start(t, d.NS, firewalldtest.NFTables)
	w := newWorldOf(t, d, fmt.Sprintf("system_bus = '%s'\n", fwd.Socket))
	before := w.state()
	fwd.Deny(true)
	xml := fmt.Sprintf(networkXML, "three", 152)
	err := w.daemon.Client().Call(t.Context(), remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: xml}, &remote.Network{})
	if err == nil || !strings.Contains(err.Error(), "cannot start network 'three': ") || !strings.Contains(err.Error(), "of firewalld: Rejected send message") {
		t.Errorf("a network that needs it: %v", err)
	}
	if p := w.problems(); !strings.Contains(p, "firewalld does not say which zones the bridges of networks are in") {
		t.Errorf("it says %q", p)
	}
	fwd.StopDaemon()
	fwd.Launch() // and it knows of no bridge
	bus, err := sysbus.Dial(t.Context(), w.host().Kernel(), fwd.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	w.comes("firewalld has its name", func() bool {
		owner, err := bus.Owner(t.Context(), firewalldtest.Name)
		return err == nil && owner != ""
	})
	fwd.Deny(false)
	fwd.Await("bridges are in their zone", func() bool { return zones(fwd) == "taproom [virbr-one virbr-two]\n" })
	w.comes("nothing is wrong", func() bool { return w.problems() == "" })
	w.same(before, "a firewalld that could not be asked")
}
