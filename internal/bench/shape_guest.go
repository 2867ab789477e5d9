package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/appliance"
	agent "taproom/internal/appliance/wire"
	"taproom/internal/network/load"
)

const (
	shapeNetwork = `<network><name>shape</name><bridge name='shapebr'/>
  <ip address='10.9.0.1' netmask='255.255.255.0'><dhcp><range start='10.9.0.2' end='10.9.0.9'/></dhcp></ip>
  <ip family='ipv6' address='fd00:9::1' prefix='64'/></network>`
	shapeDomain = "shape"
	// shapeBoots is how long a guest may take until it has its addresses, where it is emulated.
	shapeBoots = 2 * time.Minute
)

// shapeGuest is the built-in guest on a network of the product's. It starts anew for each limit.
type shapeGuest struct {
	daemon  *ownDaemon
	files   appliance.Guest
	running bool

	addr, host [2]netip.Addr // of IPv4 and of IPv6
	sinks      map[string]int
	echo       int
	seconds    int // that a transfer may last
}

var _ shapeLine = (*shapeGuest)(nil)

func newShapeGuest(ctx context.Context, b *shapeBench) (s *shapeGuest, err error) {
	s = &shapeGuest{seconds: b.o.Seconds + 120, host: [2]netip.Addr{netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("fd00:9::1")}}
	if s.files, err = appliance.Ensure(ctx, appliance.Options{AgentPath: filepath.Join(b.o.Programs, "taproom-agent")}); err != nil {
		return nil, err
	}
	if s.daemon, err = startOwn(ctx, b.o.Programs); err != nil {
		return nil, err
	}
	if err := s.apply(ctx, false, shapeNetwork); err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	v, err := s.daemon.conn.Version(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	b.report.Host.QEMU = v.QEMU
	return s, nil
}

// apply has something exist and run, or go.
func (s *shapeGuest) apply(ctx context.Context, remove bool, xml string) error {
	r, err := s.daemon.conn.Apply(ctx, own.ApplyRequest{Remove: remove, Documents: []own.Document{{Name: "document.xml", XML: xml}}, Accel: "auto"})
	if err != nil {
		return err
	}
	for _, o := range r.Objects {
		if o.Error != "" {
			return errors.New(o.Error)
		}
	}
	return nil
}

func (s *shapeGuest) document(kib int) string {
	bandwidth := ""
	if kib != 0 {
		bandwidth = fmt.Sprintf("<bandwidth><inbound average='%d'/><outbound average='%d'/></bandwidth>", kib, kib)
	}
	return fmt.Sprintf(`<domain type='kvm'><name>%s</name><memory unit='MiB'>256</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>
  <features><acpi/></features>
  <devices><controller type='usb' model='none'/>
    <interface type='network'><mac address='52:54:00:00:09:02'/><source network='shape'/><model type='virtio'/>%s</interface>
    <channel type='unix'><target type='virtio' name='%s'/></channel><memballoon model='none'/></devices></domain>`,
		shapeDomain, s.files.Kernel, s.files.Initrd, s.files.Cmdline, bandwidth, agent.PortName)
}

// bound implements shapeLine.
func (s *shapeGuest) bound(ctx context.Context, kib int) error {
	if err := s.end(ctx); err != nil {
		return err
	}
	s.running = true
	if err := s.apply(ctx, false, s.document(kib)); err != nil {
		return err
	}
	if err := s.boots(ctx); err != nil {
		return err
	}
	s.sinks = map[string]int{}
	for _, protocol := range []string{"tcp", "udp"} {
		l, err := askGuest[agent.Listening](ctx, s, agent.OpSink, agent.Sink{Protocol: protocol})
		if err != nil {
			return err
		}
		s.sinks[protocol] = l.Port
	}
	l, err := askGuest[agent.Listening](ctx, s, agent.OpListen, agent.Listen{Protocol: "udp"})
	s.echo = l.Port
	return err
}

// boots waits until the guest has an address of either family.
func (s *shapeGuest) boots(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, shapeBoots, fmt.Errorf("the guest has not both its addresses after %v", shapeBoots))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := askGuest[agent.Network](ctx, s, agent.OpNetwork, agent.NetworkWait{Leases: 1, Seconds: 60})
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		s.addr = [2]netip.Addr{}
		for _, nic := range n.NICs {
			for _, text := range nic.Addresses {
				p, err := netip.ParsePrefix(text)
				if err != nil {
					continue
				}
				if a := p.Addr(); a.Is4() {
					s.addr[0] = a
				} else if !a.IsLinkLocalUnicast() {
					s.addr[1] = a
				}
			}
		}
		if s.addr[0].IsValid() && s.addr[1].IsValid() {
			return nil
		}
		select {
		case <-tick.C: // an address by an advertisement comes by itself
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// askGuest puts a question to the agent in the guest.
func askGuest[T any](ctx context.Context, s *shapeGuest, op agent.Op, args any) (answer T, err error) {
	request, err := json.Marshal(map[string]any{"op": op, "args": args})
	if err != nil {
		return answer, err
	}
	reply, err := s.daemon.conn.Agent(ctx, shapeDomain, request)
	if err != nil {
		return answer, fmt.Errorf("ask the guest for %s: %w", op, err)
	}
	if len(reply) > 0 {
		err = json.Unmarshal(reply, &answer)
	}
	return answer, err
}

func here(f func()) { f() }

func protocolOf(x load.Transport) string {
	if x.Streams == 0 {
		return "udp"
	}
	return "tcp"
}

// flow implements shapeLine.
func (s *shapeGuest) flow(ctx context.Context, x load.Transport, out bool, rate float64) (shapeFlow, error) {
	if !out {
		port := s.sinks[protocolOf(x)]
		before, err := s.meter(ctx, protocolOf(x), port)
		if err != nil {
			return nil, err
		}
		f, err := load.Send(ctx, here, x, netip.AddrPortFrom(x.Pick(s.addr), uint16(port)), shapeMTU, rate)
		if err != nil {
			return nil, err
		}
		return &intoGuest{Flow: f, guest: s, protocol: protocolOf(x), port: port, before: before}, nil
	}
	f, at, err := load.Receive(ctx, here, x, x.Pick(s.host))
	if err != nil {
		return nil, err
	}
	send := agent.Send{Protocol: protocolOf(x), Address: at.String(), Streams: x.Streams, Size: x.Datagram(shapeMTU), Rate: load.Offered(rate), Seconds: s.seconds}
	if _, err := askGuest[struct{}](ctx, s, agent.OpSend, send); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// intoGuest is a transfer that the guest receives.
type intoGuest struct {
	*load.Flow // of the sender
	guest      *shapeGuest
	protocol   string
	port       int
	before     load.Reading
}

// Over implements shapeFlow.
func (f *intoGuest) Over(ctx context.Context, warmUp, window time.Duration) (float64, error) {
	if err := load.Pause(ctx, warmUp); err != nil {
		return 0, err
	}
	first, err := f.guest.meter(ctx, f.protocol, f.port)
	if err == nil && first.Bytes == f.before.Bytes {
		err = load.ErrSilent
	}
	if err == nil {
		err = load.Pause(ctx, window)
	}
	if err != nil {
		return 0, err
	}
	last, err := f.guest.meter(ctx, f.protocol, f.port)
	return first.Until(last), err
}

func (s *shapeGuest) meter(ctx context.Context, protocol string, port int) (load.Reading, error) {
	m, err := askGuest[agent.Metered](ctx, s, agent.OpMeter, agent.Meter{Protocol: protocol, Port: port})
	return load.Reading{Bytes: m.Bytes, At: time.Unix(0, m.Nanos)}, err
}

// delays implements shapeLine.
func (s *shapeGuest) delays(ctx context.Context) (load.Delays, error) {
	return load.Ask(ctx, here, netip.AddrPortFrom(s.addr[0], uint16(s.echo)), shapeAsks, shapeEvery)
}

// end stops the guest.
func (s *shapeGuest) end(ctx context.Context) error {
	if !s.running {
		return nil
	}
	s.running = false
	return s.apply(ctx, true, s.document(0))
}

// close implements shapeLine.
func (s *shapeGuest) close(ctx context.Context) error {
	return errors.Join(s.end(ctx), s.apply(ctx, true, shapeNetwork), s.daemon.close(ctx))
}
