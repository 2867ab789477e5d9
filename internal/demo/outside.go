package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// The wire between the namespace that plays the host and the one that plays the world (RFC 5737, TEST-NET-2).
const (
	hostAddress    = "198.51.100.1/24"
	outsideAddress = "198.51.100.2/24"
	outsideIP      = "198.51.100.2"
	echoPort       = 7
	hostLink       = "uplink"
	outsideLink    = "world"
)

// echo answers TCP and UDP on addr with what it gets, until ctx is done. It reports every new TCP peer.
func echo(ctx context.Context, addr string, peer func(net.Addr)) error {
	var lc net.ListenConfig
	tcp, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("echo server: %w", err)
	}
	udp, err := lc.ListenPacket(ctx, "udp", tcp.Addr().String())
	if err != nil {
		tcp.Close()
		return fmt.Errorf("echo server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		tcp.Close()
		udp.Close()
	})
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { echoPackets(udp) })
	for {
		c, err := tcp.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("echo server: %w", err)
		}
		peer(c.RemoteAddr())
		wg.Go(func() {
			defer c.Close()
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			_, _ = io.Copy(c, c) // the other side counts what comes back
		})
	}
}

func echoPackets(udp net.PacketConn) {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := udp.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = udp.WriteTo(buf[:n], from) // a lost answer is the other side's to count
	}
}
