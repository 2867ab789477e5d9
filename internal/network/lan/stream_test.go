package lan_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/lan"
)

// patience bounds every wait.
const patience = time.Minute

// routed makes a host whose NIC leads to a router in a namespace of its own.
func routed(t *testing.T) (here, router *hosttest.NS) {
	t.Helper()
	here, router = hosttest.NewNS(t), hosttest.NewNS(t)
	here.Keep("link eth0", "link br0")
	router.Keep("link lan")
	var tid int
	router.Do(func() { tid = unix.Gettid() })
	here.Shell(fmt.Sprintf("echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; ip link add eth0 type veth peer name lan netns %d", tid))
	router.Shell(`echo 0 > /proc/sys/net/ipv6/conf/lan/accept_dad
ip address add 192.0.2.1/24 dev lan
ip address add 2001:db8::1/64 nodad dev lan
ip address add 198.51.100.1/32 dev lo
ip address add 2001:db8:1::1/128 dev lo
ip link set dev lan up`)
	here.Shell(`ip address add 192.0.2.10/24 dev eth0
ip address add 2001:db8::10/64 nodad dev eth0
ip link set dev eth0 up
ip route add default via 192.0.2.1
ip -6 route add default via 2001:db8::1
until ip -o link show dev eth0 | grep -q "state UP"; do sleep 0.01; done
while ip -6 address | grep -q tentative; do sleep 0.01; done`)
	router.Shell(`until ip -o link show dev lan | grep -q "state UP"; do sleep 0.01; done
while ip -6 address | grep -q tentative; do sleep 0.01; done`)
	return here, router
}

// talk is a connection over which a line is said again and again, and heard back.
type talk struct {
	conn  net.Conn
	heard chan struct{} // somebody who waits for answers is told of each
	gap   atomic.Int64  // the longest time between two answers, in ns
	done  sync.WaitGroup
	err   error // why it ended
}

func converse(t *testing.T, from, to *hosttest.NS, address string) *talk {
	t.Helper()
	var l net.Listener
	var err error
	to.Do(func() { l, err = net.Listen("tcp", net.JoinHostPort(address, "0")) })
	if err != nil {
		t.Fatal(err)
	}
	c := &talk{heard: make(chan struct{})}
	c.done.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			if _, err := conn.Write(line); err != nil {
				return
			}
		}
	})
	from.Do(func() { c.conn, err = net.DialTimeout("tcp", l.Addr().String(), patience) })
	if err != nil {
		_ = l.Close()
		t.Fatal(err)
	}
	c.done.Go(func() {
		r := bufio.NewReader(c.conn)
		for last := time.Now(); ; {
			_ = c.conn.SetDeadline(time.Now().Add(patience))
			if _, c.err = c.conn.Write([]byte("still there?\n")); c.err != nil {
				return
			}
			if _, c.err = r.ReadBytes('\n'); c.err != nil {
				return
			}
			now := time.Now()
			c.gap.Store(max(c.gap.Load(), int64(now.Sub(last))))
			last = now
			select {
			case c.heard <- struct{}{}:
			default:
			}
		}
	})
	t.Cleanup(func() {
		_, _ = l.Close(), c.conn.Close()
		c.done.Wait()
	})
	return c
}

// goesOn waits until more is heard.
func (c *talk) goesOn(t *testing.T) {
	t.Helper()
	over := time.NewTimer(patience)
	defer over.Stop()
	for range 20 {
		select {
		case <-c.heard:
		case <-over.C:
			t.Fatalf("nothing more is heard: %v", c.err)
		}
	}
}

func TestConnectionsByTheNICLiveOn(t *testing.T) {
	t.Parallel()
	here, router := routed(t)
	k := here.Kernel()
	talks := map[string]*talk{}
	for _, address := range []string{"198.51.100.1", "2001:db8:1::1"} {
		talks[address] = converse(t, here, router, address)
		talks[address].goesOn(t)
	}
	is := lan.Current(look(t, k), "br0")
	for _, want := range []lan.Layout{is.WithBridge(), is} {
		s := look(t, k)
		took, err := lan.Apply(t.Context(), k, s, lan.Plan(s, want), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("bridged %t: switched in %s", want.Bridged, took)
		for address, c := range talks {
			c.goesOn(t)
			t.Logf("the longest silence of %s was %s", address, time.Duration(c.gap.Swap(0)))
		}
	}
}
