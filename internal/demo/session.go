package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/appliance/wire"
	"taproom/internal/engine"
	"taproom/internal/sandbox"
)

// session is one run: what was started and what was seen so far.
type session struct {
	Options
	progress *Progress
	daemon   *sandbox.Daemon
	world    *world
	client   *client.Client
	result   *Result
}

func (s *session) run(ctx context.Context) (err error) {
	if s.client, err = client.Dial(ctx, engine.NewPaths(s.daemon.Root).ControlSocket(), client.Options{}); err != nil {
		return err
	}
	s.progress.Step("apply %s", s.names())
	if err := s.apply(ctx); err != nil {
		return err
	}
	s.progress.Step("wait for the guest to boot and to get its address")
	nic, err := s.lease(ctx)
	if err != nil {
		return err
	}
	s.result.Address, s.result.MAC = nic.Lease.Address, nic.MAC
	s.progress.Done(nic.Lease.Address)
	s.progress.Step("exchange traffic, host to guest")
	if s.result.HostToGuest, err = s.hostToGuest(ctx, nic.Lease.Address); err != nil {
		return err
	}
	s.progress.Step("exchange traffic, guest to outside through NAT")
	if s.result.GuestOut, err = s.guestOut(ctx); err != nil {
		return err
	}
	s.result.SeenFrom = s.world.seen()
	trace, err := s.client.Trace(ctx, s.result.Guest)
	if err != nil {
		return err
	}
	s.result.Start = trace.Spans
	return nil
}

func (s *session) names() string {
	var names []string
	for _, d := range s.Documents {
		names = append(names, filepath.Base(d.Name))
	}
	return strings.Join(names, " and ")
}

func (s *session) apply(ctx context.Context) error {
	applied, err := s.client.Apply(ctx, own.ApplyRequest{Documents: s.Documents, Accel: "auto"})
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range applied.Objects {
		if o.Error != "" {
			errs = append(errs, errors.New(o.Error))
		}
		if o.Kind == "domain" {
			s.result.Guest = o.Name
			s.result.Accelerator = "KVM"
			for _, n := range o.Notes {
				if reason, ok := strings.CutPrefix(n, "runs without KVM: "); ok {
					s.result.Accelerator, s.result.NoKVM = "TCG", reason
				}
			}
		} else {
			s.result.Network = o.Name
		}
	}
	if s.result.Guest == "" && len(errs) == 0 {
		return errors.New("the documents name no guest")
	}
	return errors.Join(errs...)
}

// ask puts one question to the agent in the guest.
func (s *session) ask(ctx context.Context, op wire.Op, args, answer any) error {
	a, err := json.Marshal(args)
	if err != nil {
		return err
	}
	request, err := json.Marshal(map[string]any{"op": op, "args": json.RawMessage(a)})
	if err != nil {
		return err
	}
	reply, err := s.client.Agent(ctx, s.result.Guest, request)
	if err != nil {
		return err
	}
	return json.Unmarshal(reply, answer)
}

// lease waits until the guest has an address and the daemon knows the lease.
func (s *session) lease(ctx context.Context) (wire.NIC, error) {
	ctx, cancel := context.WithTimeout(ctx, bootWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		var n wire.Network
		if err := s.ask(ctx, wire.OpNetwork, nil, &n); err != nil {
			return wire.NIC{}, fmt.Errorf("the guest does not answer: %w", err)
		}
		for _, nic := range n.NICs {
			if nic.Lease != nil {
				return nic, nil
			}
		}
		select {
		case <-tick.C: // the agent answers before it has a lease, and has no way to call back
		case <-ctx.Done():
			return wire.NIC{}, fmt.Errorf("the guest got no address within %v", bootWithin)
		}
	}
}

const (
	tcpBytes   = 1 << 20
	udpPackets = 100
	udpSize    = 512
	// exchangeWithin is how long a mebibyte may take to the guest and back; under emulation it takes about a second.
	exchangeWithin = 30 * time.Second
)

// hostToGuest sends to an echo server in the guest and compares what comes back.
func (s *session) hostToGuest(ctx context.Context, address string) (Traffic, error) {
	var t Traffic
	var l wire.Listening
	if err := s.ask(ctx, wire.OpListen, wire.Listen{Protocol: "tcp"}, &l); err != nil {
		return t, err
	}
	host, _, _ := strings.Cut(address, "/")
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(l.Port)))
	if err != nil {
		return t, fmt.Errorf("connect to the guest: %w", err)
	}
	defer c.Close()
	data := make([]byte, tcpBytes)
	_, _ = rand.Read(data) // never fails
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, exchangeWithin)
	defer cancel()
	back, err := exchange(ctx, c.(halfCloser), data)
	if err != nil {
		return t, fmt.Errorf("exchange with the guest: %w", err)
	}
	if !bytes.Equal(back, data) {
		return t, fmt.Errorf("the guest echoed %d of %d bytes, or other ones", len(back), len(data))
	}
	t.TCPBytes = tcpBytes
	t.TCPMbits = float64(tcpBytes) * 8 / 1e6 / time.Since(began).Seconds()
	return t, nil
}

// halfCloser is a connection that can say that nothing more is sent: one of TCP or of a unix socket.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// exchange sends data and returns what comes back until the other side has sent all, or until ctx is done.
func exchange(ctx context.Context, c halfCloser, data []byte) (back []byte, err error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(data)
		sent <- errors.Join(err, c.CloseWrite())
	}()
	back, err = io.ReadAll(c)
	return back, errors.Join(context.Cause(ctx), err, <-sent)
}

// guestOut lets the guest send to the echo server behind the NAT.
func (s *session) guestOut(ctx context.Context) (Traffic, error) {
	var t Traffic
	echo := net.JoinHostPort(outsideIP, strconv.Itoa(echoPort))
	var tcp, udp wire.TrafficResult
	if err := s.ask(ctx, wire.OpTraffic, wire.Traffic{Protocol: "tcp", Address: echo, Bytes: tcpBytes, Seconds: 30}, &tcp); err != nil {
		return t, fmt.Errorf("TCP from the guest to the outside: %w", err)
	}
	if err := s.ask(ctx, wire.OpTraffic, wire.Traffic{Protocol: "udp", Address: echo, Packets: udpPackets, Size: udpSize, Seconds: 30}, &udp); err != nil {
		return t, fmt.Errorf("UDP from the guest to the outside: %w", err)
	}
	if tcp.Received != tcpBytes {
		return t, fmt.Errorf("%d of %d bytes came back to the guest", tcp.Received, tcpBytes)
	}
	return Traffic{
		TCPBytes: tcp.Received, TCPMbits: tcp.Mbits, UDPSent: udp.PacketsSent, UDPBack: udp.PacketsBack, RTTMedian: udp.RTTMedian,
	}, nil
}

// cleanUp stops and removes everything and says what is left all the same.
func (s *session) cleanUp(ctx context.Context) (left []string, err error) {
	s.progress.Step("stop and remove everything")
	if s.client != nil {
		_, aerr := s.client.Apply(ctx, own.ApplyRequest{Documents: s.Documents, Remove: true})
		err = errors.Join(err, aerr, s.client.Close())
	}
	err = errors.Join(err, s.daemon.Stop())
	left = leftovers(ctx, s.daemon.Root)
	err = errors.Join(err, s.daemon.Remove())
	if _, serr := os.Stat(s.daemon.Root); serr == nil {
		left = append(left, s.daemon.Root)
	}
	return left, err
}
