package hosttest

import (
	"errors"
	"net"
	"testing"
)

// Answer has a machine answer at a port of TCP and UDP, as net.Listen takes it, with what say makes of who asks, until the
// test is over.
func Answer(t testing.TB, ns *NS, at string, say func(from net.Addr) string) {
	t.Helper()
	var tcp net.Listener
	var udp net.PacketConn
	var err1, err2 error
	ns.Do(func() {
		tcp, err1 = net.Listen("tcp", at)
		udp, err2 = net.ListenPacket("udp", at)
	})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(say(c.RemoteAddr())))
			_ = c.Close()
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		buf := make([]byte, 64)
		for {
			_, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo([]byte(say(from)), from)
		}
	}()
	t.Cleanup(func() {
		_ = tcp.Close()
		_ = udp.Close()
		<-done
		<-done
	})
}
