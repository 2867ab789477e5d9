package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"taproom/internal/appliance/nic"
	"taproom/internal/appliance/wire"
)

const (
	maxListeners = 512 // two on each of very many links
	// maxConnections bounds how many TCP connections one listener echoes at a time; more wait to be accepted.
	maxConnections = 64
)

// listeners echo on ports until their context is done.
type listeners struct {
	mu    sync.Mutex
	count int
	tasks sync.WaitGroup
}

func (l *listeners) listen(ctx context.Context, r wire.Listen) (wire.Listening, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxListeners {
		return wire.Listening{}, fmt.Errorf("%d listeners are open already", maxListeners)
	}
	at := net.JoinHostPort(r.Address, strconv.Itoa(r.Port))
	config := net.ListenConfig{Control: nic.BindTo(r.Link)}
	var bound net.Addr
	var closer io.Closer
	switch r.Protocol {
	case "tcp":
		s, err := config.Listen(ctx, "tcp", at)
		if err != nil {
			return wire.Listening{}, err
		}
		bound, closer = s.Addr(), s
		l.tasks.Go(func() { echoTCP(s) })
	case "udp":
		s, err := config.ListenPacket(ctx, "udp", at)
		if err != nil {
			return wire.Listening{}, err
		}
		bound, closer = s.LocalAddr(), s
		l.tasks.Go(func() { echoUDP(s) })
	default:
		return wire.Listening{}, fmt.Errorf("listen on protocol %q: there are tcp and udp", r.Protocol)
	}
	l.count++
	l.tasks.Go(func() {
		<-ctx.Done()
		_ = closer.Close()
	})
	_, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return wire.Listening{}, err
	}
	n, err := strconv.Atoi(port)
	return wire.Listening{Port: n}, err
}

func echoTCP(s net.Listener) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	slots := make(chan struct{}, maxConnections)
	for {
		slots <- struct{}{}
		conn, err := s.Accept()
		if err != nil {
			return
		}
		tasks.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			_, _ = io.CopyBuffer(onlyWriter{conn}, onlyReader{conn}, make([]byte, 64<<10))
		})
	}
}

func echoUDP(s net.PacketConn) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := s.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = s.WriteTo(buf[:n], from)
	}
}
