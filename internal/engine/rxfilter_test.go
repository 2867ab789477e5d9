package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/qmp"
	"taproom/internal/qemu/rxfilter"
	"taproom/internal/spec"
)

const rxMAC = "52:54:00:00:00:01"

// rxGuest is a guest that runs with a macvtap on low0, and says the same whenever it is asked.
func rxGuest(t *testing.T, trust bool, says string) (*agentDouble, *hosttest.NS, <-chan string) {
	t.Helper()
	e, ns := onLink(t)
	doc, err := spec.ParseDomain([]byte(`<domain type='qemu'><name>d</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory>1024</memory><vcpu>1</vcpu><devices>
<interface type='direct'><mac address='` + rxMAC + `'/><source dev='low0' mode='bridge'/><model type='virtio'/><alias name='net0'/></interface></devices></domain>`))
	if err != nil {
		t.Fatal(err)
	}
	rec := record{Name: doc.Name, UUID: *doc.UUID, ID: 3, NICs: 1, Ports: []port{{Name: "macvtap0", MAC: rxMAC, Guest: rxMAC, ID: "p", Trust: trust, Direct: &directPort{Lower: "low0", Mode: "bridge"}}}}
	env, err := e.makeLinks(t.Context(), rec, rec.Ports, nil, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	a := &agentDouble{e: e, d: newDomain(*doc.UUID, doc.Name, nil), run: newRunning(rec, doc)}
	e.domains.add(a.d)
	a.d.update(func(v *view) { v.run, v.ref.ID, v.ref.State = a.run, 3, server.DomainRunning })
	asked := a.monitored(t, map[string]string{"query-rx-filter": says})
	<-asked // qmp_capabilities
	t.Cleanup(func() {
		if err := env.CloseTaps(); err != nil {
			t.Error(err)
		}
		ns.Run("ip", "link", "del", "macvtap0")
	})
	return a, ns, asked
}

// tells is QEMU's event.
func (a *agentDouble) tells(t *testing.T, nic string) {
	t.Helper()
	data, err := json.Marshal(map[string]string{"name": nic, "path": "/machine/peripheral/" + nic + "/virtio-backend"})
	if err != nil {
		t.Fatal(err)
	}
	guestEvents["NIC_RX_FILTER_CHANGED"](a.e, t.Context(), a.d, a.run, qmp.Event{Name: "NIC_RX_FILTER_CHANGED", Data: data})
}

func rxSays(mac string, groups ...string) string {
	b, _ := json.Marshal([]map[string]any{{"name": "net0", "main-mac": mac, "multicast": "normal", "unicast": "normal", "promiscuous": false, "multicast-table": groups, "unicast-table": []string{}}})
	return string(b)
}

// However often a guest changes its mind while nobody has time for it, it is asked once, and that is made so.
func TestAGuestThatChangesItsMindAllTheTimeIsAskedOnce(t *testing.T) {
	t.Parallel()
	const mac, group = "52:54:00:00:00:77", "01:00:5e:00:00:aa"
	a, ns, asked := rxGuest(t, true, rxSays(mac, group))
	j, err := a.d.slot.Begin(t.Context(), "save")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		a.tells(t, "net0")
		a.tells(t, "net9") // which it does not have
	}
	j.End()
	a.e.work.Wait()
	if got := len(asked); got != 1 {
		t.Errorf("it was asked %d times", got)
	}
	if l := ns.Run("ip", "link", "show", "macvtap0"); !strings.Contains(l, mac) || strings.Contains(l, "ALLMULTI") || strings.Contains(l, "PROMISC") {
		t.Errorf("it is\n%s", l)
	}
	if f := ns.Run("bridge", "fdb", "show", "dev", "macvtap0"); !strings.Contains(f, group) {
		t.Errorf("it hears\n%s", f)
	}
	want := rxfilter.Filter{MAC: mac, Multicast: []string{group}}
	if rx := a.recorded(t).Ports[0].Rx; rx == nil || !rx.Equal(want) {
		t.Errorf("written down is %+v, want %+v", rx, want)
	}
	a.tells(t, "net0")
	a.e.work.Wait()
	if got := len(asked); got != 2 {
		t.Errorf("it was asked %d times, and told twice that it should be", got)
	}
}

func TestAGuestThatIsNotBelievedIsNotAsked(t *testing.T) {
	t.Parallel()
	a, ns, asked := rxGuest(t, false, rxSays("52:54:00:00:00:77"))
	a.tells(t, "net0")
	a.e.work.Wait()
	if l := ns.Run("ip", "link", "show", "macvtap0"); len(asked) > 0 || !strings.Contains(l, rxMAC) {
		t.Errorf("it was asked %d times, and is\n%s", len(asked), l)
	}
}

// What the kernel refuses of a guest's wishes stays as it was, and what makes no sense changes nothing.
func TestAGuestGetsOfItsWishesWhatTheHostCanGive(t *testing.T) {
	t.Parallel()
	const taken, group = "52:54:00:00:00:66", "01:00:5e:00:00:aa"
	for what, c := range map[string]struct {
		says string
		want *rxfilter.Filter
	}{
		"another's address":      {rxSays(taken, group), &rxfilter.Filter{MAC: rxMAC, Multicast: []string{group}}},
		"the address of a group": {rxSays(group, group), &rxfilter.Filter{MAC: rxMAC, Multicast: []string{group}}},
		"nothing":                {"[]", nil},
		"nonsense":               {`[{"name": "net0", "main-mac": 7}]`, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, ns, asked := rxGuest(t, true, c.says)
			ns.Run("ip", "link", "add", "link", "low0", "name", "other", "address", taken, "up", "type", "macvlan", "mode", "bridge")
			defer ns.Run("ip", "link", "del", "other")
			a.tells(t, "net0")
			a.e.work.Wait()
			rx := a.run.rec().Ports[0].Rx
			if len(asked) != 1 || (rx == nil) != (c.want == nil) || rx != nil && !rx.Equal(*c.want) {
				t.Errorf("asked %d times, it has %+v, want %+v", len(asked), rx, c.want)
			}
			if c.want != nil {
				if written := a.recorded(t).Ports[0].Rx; written == nil || !written.Equal(*c.want) {
					t.Errorf("written down is %+v, want %+v", written, c.want)
				}
			}
			l := ns.Run("ip", "link", "show", "macvtap0")
			if !strings.Contains(l, rxMAC) || strings.Contains(l, "ALLMULTI") != (c.want == nil) {
				t.Errorf("it is\n%s", l)
			}
		})
	}
}

// A guest that wants what it cannot have, again and again, does not fill the log.
func TestWhatAGuestCannotHaveIsSaidOnceAMinute(t *testing.T) {
	t.Parallel()
	const taken = "52:54:00:00:00:66"
	a, ns, asked := rxGuest(t, true, rxSays(taken))
	ns.Run("ip", "link", "add", "link", "low0", "name", "other", "address", taken, "up", "type", "macvlan", "mode", "bridge")
	defer ns.Run("ip", "link", "del", "other")
	var said bytes.Buffer
	a.e.log = slog.New(slog.NewTextHandler(&said, nil))
	now := time.Unix(1000, 0)
	a.e.now = func() time.Time { return now }
	for _, want := range []int{1, 1, 1, 2} {
		if want == 2 {
			now = now.Add(filterSaid)
		}
		a.tells(t, "net0")
		a.e.work.Wait()
		if got := strings.Count(said.String(), "the host does not take"); got != want {
			t.Errorf("after %d looks it was said %d times, want %d:\n%s", len(asked), got, want, said.String())
		}
	}
	if len(asked) != 4 {
		t.Errorf("it was asked %d times", len(asked))
	}
}

// A guest that is believed says what is behind its port; what is another's it does not get.
func TestOfABridgesAddressesAGuestGetsThoseThatNobodyHas(t *testing.T) {
	t.Parallel()
	e := small(t)
	net, err := spec.ParseNetwork([]byte("<network><name>n</name><uuid>22222222-2222-3333-4444-555555555555</uuid><bridge name='virbr0' macTableManager='libvirt'/><mac address='52:54:00:00:00:B0'/></network>"))
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(*net.UUID, net.Name, nil)
	n.update(func(v *netView) { v.live = net })
	e.networks.add(n)
	guest := func(id int32, mac string, rx *rxfilter.Filter) record {
		doc, err := spec.ParseDomain([]byte(fmt.Sprintf("<domain type='qemu'><name>d%d</name><uuid>11111111-2222-3333-4444-%012d</uuid><memory>1024</memory></domain>", id, id)))
		if err != nil {
			t.Fatal(err)
		}
		rec := record{Name: doc.Name, UUID: *doc.UUID, ID: id, Ports: []port{{Name: fmt.Sprint("vnet", id), ID: fmt.Sprint(id), Guest: mac, Network: "n", Managed: true, Rx: rx}}}
		d := newDomain(*doc.UUID, doc.Name, nil)
		e.domains.add(d)
		d.update(func(v *view) { v.run = newRunning(rec, doc) })
		return rec
	}
	records := []record{
		guest(1, "52:54:00:00:00:01", &rxfilter.Filter{MAC: "52:54:00:00:00:01", Unicast: []string{"52:54:00:00:00:02", "52:54:00:00:00:0a"}}),
		guest(2, "52:54:00:00:00:02", nil),
		guest(3, "52:54:00:00:00:03", &rxfilter.Filter{MAC: "52:54:00:00:00:0a", Unicast: []string{"52:54:00:00:00:01", "52:54:00:00:00:b0", "52:54:00:00:00:0c"}}),
		guest(4, "52:54:00:00:00:04", &rxfilter.Filter{AllMulticast: true}),
	}
	want := []string{"52:54:00:00:00:01 52:54:00:00:00:0a", "52:54:00:00:00:02", "52:54:00:00:00:0c", "52:54:00:00:00:04"}
	for i, r := range records {
		got := e.portsNow(r)[r.Ports[0].Name]
		if !got.Managed || got.Table != want[i] || !slices.IsSorted(strings.Fields(got.Table)) {
			t.Errorf("%s: %+v, want %s", r.Name, got, want[i])
		}
	}
}
