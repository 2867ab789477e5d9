package crashtest

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/packet"
	"taproom/internal/network/packet/packettest"
)

// manyNetworks is how many are served when the helper is killed.
const manyNetworks = 100

// manyDocuments are networks with DHCP and DNS, none of which waits for a spanning tree.
func manyDocuments() []own.Document {
	var all []own.Document
	for n := range manyNetworks {
		all = append(all, own.Document{Name: fmt.Sprintf("many%d.xml", n), XML: fmt.Sprintf(`<network>
  <name>many%[1]d</name>
  <bridge name='vbm%[1]d' stp='off'/>
  <ip address='10.111.%[1]d.1' netmask='255.255.255.0'><dhcp><range start='10.111.%[1]d.2' end='10.111.%[1]d.99'/></dhcp></ip>
</network>`, n)})
	}
	return all
}

// asker sends DHCP messages of one client.
type asker struct {
	port *packettest.Port
	mac  packet.MAC
}

// asks sends a message every few milliseconds until it is answered, and returns what the answer offers.
func (a asker) asks(t *testing.T, kind dhcpv4.MessageType, how ...dhcpv4.Modifier) (netip.Addr, netip.Addr) {
	t.Helper()
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithHwAddr(a.mac[:]), dhcpv4.WithMessageType(kind)}, how...)...)
	if err != nil {
		t.Fatal(err)
	}
	d := packet.Datagram{
		From: a.mac, To: packet.Broadcast(), Payload: m.ToBytes(),
		Src: netip.MustParseAddrPort("0.0.0.0:68"), Dst: netip.MustParseAddrPort("255.255.255.255:67"),
	}
	frame, enough := d.Frame(), make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for {
			a.port.Send(frame)
			select {
			case <-again.C:
			case <-enough:
				return
			}
		}
	})
	defer sending.Wait()
	defer close(enough)
	var answer *dhcpv4.DHCPv4
	a.port.Await(func(frame []byte) bool {
		d, err := packet.ParseUDP4(frame, false)
		if err != nil || d.Src.Port() != 67 {
			return false
		}
		r, err := dhcpv4.FromBytes(d.Payload)
		if err != nil || r.TransactionID != m.TransactionID {
			return false
		}
		answer = r
		return true
	})
	given, _ := netip.AddrFromSlice(answer.YourIPAddr.To4())
	server, _ := netip.AddrFromSlice(answer.ServerIdentifier().To4())
	return given, server
}

// TestAHundredNetworksAreServedSoonAfterTheHelperIsKilled holds the order of things, and prints how long they took.
func TestAHundredNetworksAreServedSoonAfterTheHelperIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	documents := manyDocuments()
	err := w.serve(func(c *client.Client) error {
		if _, err := c.Apply(t.Context(), own.ApplyRequest{Documents: documents}); err != nil {
			return err
		}
		// The last network in the order of names is among the last that are set again.
		last := fmt.Sprintf("vbm%d", manyNetworks-1)
		guest := hosttest.NewNS(t)
		hosttest.Veth(w.NS, "out-many", guest, "in-many")
		w.NS.Run("ip", "link", "set", "dev", "out-many", "master", last)
		events, _, err := c.FollowLeases(t.Context(), fmt.Sprintf("many%d", manyNetworks-1))
		if err != nil {
			return err
		}
		a := asker{packettest.Open(t, guest, "in-many"), packet.MAC{0x52, 0x54, 0, 0x11, 0x22, 0x33}}
		offered, server := a.asks(t, dhcpv4.MessageTypeDiscover)
		leased, _ := a.asks(t, dhcpv4.MessageTypeRequest,
			dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(offered.AsSlice())), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(server.AsSlice())))
		if leased != offered {
			return fmt.Errorf("offered %v and gave %v", offered, leased)
		}
		if e, is := (<-events).(own.LeaseEvent); !is || e.Kind != own.LeaseAdded || e.Lease.Address != leased.String() || e.Lease.MAC != a.mac.String() {
			t.Errorf("the new lease is told as %+v", e)
		}
		for range 2 { // the second time there is no reason to wait either
			killed := time.Now()
			dead, err := w.killHelper()
			if err != nil {
				return err
			}
			t.Logf("the kernel took %v to end it: each packet socket waits for all that may be reading it", time.Since(killed))
			again, _ := a.asks(t, dhcpv4.MessageTypeDiscover)
			t.Logf("%d networks: a client is answered %v after kill -9 of the helper", manyNetworks, time.Since(killed))
			told := <-events
			for e, is := told.(own.LeaseEvent); is && e.Kind == own.LeaseRenewed; e, is = told.(own.LeaseEvent) {
				told = <-events // a client whose answer took long asked again
			}
			if e, is := told.(own.LeaseEvent); !is || e.Kind != own.LeasesMissed {
				t.Errorf("that leases may have changed meanwhile is told as %+v", told)
			}
			if again != leased {
				t.Errorf("the client has %v and is offered %v", leased, again)
			}
			// What is asked of any network meanwhile waits until all are served.
			leases, err := c.GuestLeases(t.Context(), "")
			t.Logf("all networks are served %v after it", time.Since(killed))
			if err != nil || len(leases.Leases) != 1 || leases.Leases[0].Address != leased.String() {
				t.Errorf("leases are %+v, %v", leases.Leases, err)
			}
			slice, _ := w.Slice()
			if pids, err := w.k.CgroupProcs(filepath.Join(slice, "vnet")); err != nil || len(pids) != 1 || pids[0] == dead {
				t.Errorf("helpers %v after %d died, %v", pids, dead, err)
			}
		}
		plan, err := c.Plan(t.Context())
		if err != nil || len(plan.Steps) > 0 {
			t.Errorf("the host is not as it should be: %+v, %v", plan.Steps, err)
		}
		status, err := c.Status(t.Context())
		if err != nil || len(status.Problems) > 0 {
			t.Errorf("problems: %s, %v", strings.Join(status.Problems, "; "), err)
		}
		_, err = c.Apply(t.Context(), own.ApplyRequest{Documents: documents, Remove: true})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if left := w.Leftovers(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
