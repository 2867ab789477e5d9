package helper_test

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"taproom/internal/network/packet"
)

// crowd is many cards at once, each with one question under way.
type crowd struct {
	w    *wire
	asks map[dhcpv4.TransactionID]*asked
	has  map[packet.MAC]netip.Addr
	next func() *dhcpv4.DHCPv4 // the first question of the next card; nil: no more
	then func(*dhcpv4.DHCPv4) *dhcpv4.DHCPv4
}

// asked is a question and when it was asked last.
type asked struct {
	frame []byte
	at    time.Time
}

// atOnce is how many questions are under way; a batch of the server's.
const atOnce = 64

func (c *crowd) ask(m *dhcpv4.DHCPv4) {
	q := &asked{frame4(packet.MAC(m.ClientHWAddr), m), time.Now()}
	c.asks[m.TransactionID] = q
	c.w.send(q.frame)
}

// run asks until every question was answered.
func (c *crowd) run() {
	c.w.s.t.Helper()
	more := true
	for more || len(c.asks) > 0 {
		for more && len(c.asks) < atOnce {
			m := c.next()
			if more = m != nil; more {
				c.ask(m)
			}
		}
		f := c.w.receive(time.Now().Add(time.Second))
		if f == nil {
			for _, q := range c.asks {
				c.w.send(q.frame)
			}
			if err := c.w.s.ctx.Err(); err != nil {
				c.w.s.t.Fatalf("%d questions have no answer: %v", len(c.asks), err)
			}
			continue
		}
		r := reply4(f)
		if r == nil || c.asks[r.TransactionID] == nil {
			continue
		}
		delete(c.asks, r.TransactionID)
		if m := c.then(r); m != nil {
			c.ask(m)
		}
	}
}

// join has cards get their first address.
func (c *crowd) join(first, n int, from netip.Addr) {
	c.w.s.t.Helper()
	i := 0
	c.next = func() *dhcpv4.DHCPv4 {
		if i == n {
			return nil
		}
		i++
		return message4(number(first+i-1), dhcpv4.MessageTypeDiscover)
	}
	c.then = func(r *dhcpv4.DHCPv4) *dhcpv4.DHCPv4 {
		mac := packet.MAC(r.ClientHWAddr)
		a, _ := netip.AddrFromSlice(r.YourIPAddr.To4())
		if r.MessageType() == dhcpv4.MessageTypeOffer {
			c.has[mac] = a
			return message4(mac, dhcpv4.MessageTypeRequest, wish(a), server(from))
		}
		if got := got4(r); got != c.has[mac] {
			c.w.s.t.Fatalf("%s was offered %s and given %s", mac, c.has[mac], got)
		}
		return nil
	}
	c.run()
}

// renew has every card renew.
func (c *crowd) renew() {
	c.w.s.t.Helper()
	var all []packet.MAC
	for mac := range c.has {
		all = append(all, mac)
	}
	c.next = func() *dhcpv4.DHCPv4 {
		if len(all) == 0 {
			return nil
		}
		mac := all[0]
		all = all[1:]
		return message4(mac, dhcpv4.MessageTypeRequest, has(c.has[mac]))
	}
	c.then = func(r *dhcpv4.DHCPv4) *dhcpv4.DHCPv4 {
		if mac := packet.MAC(r.ClientHWAddr); got4(r) != c.has[mac] {
			c.w.s.t.Fatalf("%s has %s, and was answered %s", mac, c.has[mac], r.Summary())
		}
		return nil
	}
	c.run()
}

// want compares what the cards have with what the helper says.
func (c *crowd) want(id [16]byte) {
	c.w.s.t.Helper()
	all, err := c.w.s.h.Leases(c.w.s.ctx, id)
	if err != nil {
		c.w.s.t.Fatal(err)
	}
	seen := map[netip.Addr]bool{}
	for _, l := range all {
		if c.has[l.MAC] != l.IP || seen[l.IP] {
			c.w.s.t.Fatalf("%s has %s, and the helper says %s", l.MAC, c.has[l.MAC], l.IP)
		}
		seen[l.IP] = true
	}
	if len(all) != len(c.has) {
		c.w.s.t.Fatalf("%d leases, want %d", len(all), len(c.has))
	}
}

func TestTenThousandClientsOfOneNetworkHaveAnAddressEachThatOutlivesTheHelper(t *testing.T) {
	t.Parallel()
	const many = 10_000
	s := newSiteWith(t, vnetRun{NoLimit: true})
	n := seven()
	dir, err := os.MkdirTemp("/dev/shm", "taproom-leases-") // a disk would be what this measures
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.o.LeaseDir = dir
	s.reopen(vnetRun{NoLimit: true})
	d := n.DHCP4
	d.Subnets[0].Prefix = netip.MustParsePrefix("10.7.0.0/16")
	d.Ranges[0].End = netip.MustParseAddr("10.7.255.254")
	d.Ranges[0].Start = netip.MustParseAddr("10.7.1.0")
	d.Hosts = nil
	index := s.serve(n)
	c := &crowd{w: s.guest(n.Bridge, "52:54:00:00:00:01").wire(), asks: map[dhcpv4.TransactionID]*asked{}, has: map[packet.MAC]netip.Addr{}}
	began := time.Now()
	c.join(1, 10, d.Subnets[0].Server)
	for range 110 { // a history that is worth compacting
		c.renew()
	}
	s.compacted(n.UUID, 1000)
	c.join(11, many-10, d.Subnets[0].Server)
	t.Logf("%d clients joined in %v", many, time.Since(began).Round(time.Millisecond))
	c.want(n.UUID)
	c.renew()
	t.Logf("and renewed in %v, %d KiB resident", time.Since(began).Round(time.Millisecond), resident(t, s.h.Hello().PID))
	if err := s.h.Compact(s.ctx, n.UUID); err != nil {
		t.Error(err)
	}
	s.compacted(n.UUID, many+1)
	s.reopen(vnetRun{NoLimit: true})
	s.set(n, index)
	c.want(n.UUID)
	c.join(many+1, 100, d.Subnets[0].Server)
	c.want(n.UUID)
	addresses := make([]netip.Addr, 0, len(c.has))
	for _, a := range c.has {
		addresses = append(addresses, a)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	if got := len(slices.Compact(addresses)); got != many+100 {
		t.Errorf("%d clients have %d addresses", many+100, got)
	}
}

// compacted waits until a network's lease file has fewer lines.
func (s *site) compacted(id [16]byte, below int) {
	s.t.Helper()
	for {
		st, err := s.h.Stats(s.ctx, id)
		if err != nil {
			s.t.Fatal(fmt.Errorf("wait for a compaction: %w", err))
		}
		if st.Records < below {
			return
		}
	}
}
