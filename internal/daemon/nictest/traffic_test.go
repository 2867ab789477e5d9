package nictest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/appliance/wire"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// bulk is what passes each way by TCP: enough for many full frames, little for a guest that is emulated.
const bulk = 256 << 10

// fromGuest lets the guest send through one NIC to the host, which echoes.
func (m *machine) fromGuest(n nic, link string, tcp, udp int) {
	m.Helper()
	at := func(port int) string { return net.JoinHostPort(n.host, strconv.Itoa(port)) }
	seconds := emutest.Seconds()
	r := ask[wire.TrafficResult](m, wire.OpTraffic, wire.Traffic{Protocol: "tcp", Address: at(tcp), Link: link, Bytes: bulk, Seconds: seconds})
	if r.Sent != bulk || r.Received != bulk {
		m.Errorf("%s on %s: TCP from the guest: %+v", n.model, n.name, r)
	}
	// Datagrams may be lost, and the guest waits for them a second only; one at least comes back unchanged.
	late, cancel := emutest.Watch(m.Context(), busy, nil)
	defer cancel()
	for {
		r = ask[wire.TrafficResult](m, wire.OpTraffic, wire.Traffic{Protocol: "udp", Address: at(udp), Link: link, Packets: 20, Size: 1000, Seconds: seconds})
		if r.PacketsBack > 0 || r.Corrupt > 0 || late.Err() != nil {
			break
		}
	}
	if r.PacketsBack == 0 || r.Corrupt != 0 {
		m.Errorf("%s on %s: UDP from the guest: %+v", n.model, n.name, r)
	}
}

// fromHost sends to the guest, which echoes.
func (m *machine) fromHost(n nic, address string) {
	m.Helper()
	host, _, _ := strings.Cut(address, "/")
	to := net.JoinHostPort(host, strconv.Itoa(guestPort))
	if n.forward != 0 {
		to = net.JoinHostPort("127.0.0.1", strconv.Itoa(n.forward))
	}
	for protocol, exchange := range map[string]func(string) error{"TCP": exchangeTCP, "UDP": exchangeUDP} {
		var err error
		m.daemon.NS.Do(func() { err = exchange(to) })
		if err != nil {
			m.Errorf("%s on %s: %s to the guest at %s: %v", n.model, n.name, protocol, to, err)
		}
	}
}

// pattern is n bytes that no other protocol sends.
func pattern(n int) []byte { return bytes.Repeat([]byte("taproom "), n/8) }

func exchangeTCP(to string) error {
	c, err := net.DialTimeout("tcp", to, emutest.Patience())
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(busy * emutest.Patience()))
	sent, got := pattern(bulk), make([]byte, bulk)
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		wrote <- err
	}()
	_, err = io.ReadFull(c, got)
	if err != nil {
		_ = c.Close()
	}
	if werr := <-wrote; err == nil {
		err = werr
	}
	if err == nil && !bytes.Equal(sent, got) {
		err = fmt.Errorf("what came back is not what was sent")
	}
	return err
}

// exchangeUDP sends a datagram until it comes back: any of them may be lost.
func exchangeUDP(to string) error {
	c, err := net.Dial("udp", to)
	if err != nil {
		return err
	}
	defer c.Close()
	sent, got := pattern(1000), make([]byte, 2000)
	for late := time.Now().Add(busy * emutest.Patience()); time.Now().Before(late); {
		if _, err = c.Write(sent); err != nil {
			continue // an answer to an earlier one that nobody listened
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second)) // wait: then it is sent again
		n, rerr := c.Read(got)
		if err = rerr; err != nil {
			continue
		}
		if !bytes.Equal(sent, got[:n]) {
			return fmt.Errorf("what came back is not what was sent")
		}
		return nil
	}
	return err
}

// echoServers echo on all of the host's addresses until the test ends.
func echoServers(t *testing.T, ns *hosttest.NS) (tcp, udp int) {
	t.Helper()
	var l net.Listener
	var p net.PacketConn
	var err error
	ns.Do(func() {
		if l, err = net.Listen("tcp4", ":0"); err == nil {
			p, err = net.ListenPacket("udp4", ":0")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		_ = p.Close()
		tasks.Wait()
	})
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer c.Close()
				_, _ = io.Copy(struct{ io.Writer }{c}, c) // not by splice, whose pipes stay
			})
		}
	})
	tasks.Go(func() {
		b := make([]byte, 64<<10)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(b[:n], from)
		}
	})
	return l.Addr().(*net.TCPAddr).Port, p.LocalAddr().(*net.UDPAddr).Port
}
