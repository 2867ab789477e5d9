package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/engine"
)

// streamFor is how long a stream flows for one sample.
const streamFor = 500 * time.Millisecond

// streamWorld is a host with networks, a guest on the last of them, and an outside.
type streamWorld struct {
	ns, guest, away *netns
	daemon          *ownDaemon
	group           uint32 // of its links
	server          net.Listener
}

// streamWorld makes one with n networks.
func (b *networkBench) streamWorld(ctx context.Context, backend string, n int) (w *streamWorld, err error) {
	s, err := b.own(backend, build{fmt.Sprintf("stream%d.", n), b.o.Programs})
	if err != nil {
		return nil, err
	}
	w = &streamWorld{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(context.WithoutCancel(ctx)))
		}
	}()
	for _, ns := range []**netns{&w.ns, &w.guest, &w.away} {
		if *ns, err = newNetns(); err != nil {
			return w, err
		}
	}
	if err := w.ns.do(func() error { // IPv6 as on any host
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("0"), 0)
	}); err != nil {
		return w, err
	}
	within := filepath.Join(b.dir, fmt.Sprintf("stream%d.%s", n, backend), "within")
	if err := os.Mkdir(within, 0o755); err != nil {
		return w, err
	}
	program, err := script(s.bench.k, within, fmt.Sprintf("exec nsenter --net='%s' '%s' \"$@\"", w.ns.path(), s.program))
	if err != nil {
		return w, err
	}
	if w.daemon, err = startOwnWith(ctx, s.bench.dir, program, s.settings); err != nil {
		return w, err
	}
	w.group = engine.NewIdentity(w.daemon.daemon.Root).LinkGroup
	for i := range n {
		if err := w.daemon.conn.Call(ctx, remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: networkDocument(i)}, &remote.Network{}); err != nil {
			return w, err
		}
	}
	return w, w.plug(ctx, placeOf(n-1))
}

// plug connects the guest and the outside.
func (w *streamWorld) plug(ctx context.Context, p netPlace) error {
	const inside, outside = "198.51.100.1", "198.51.100.2"
	return errors.Join(
		w.ns.do(func() error {
			return ipBatch(ctx,
				fmt.Sprintf("link add name port type veth peer name eth0 netns %s", w.guest.path()), "link set dev port master "+p.bridge+" up",
				fmt.Sprintf("link add name uplink type veth peer name eth0 netns %s", w.away.path()), "addr add "+inside+"/24 dev uplink", "link set dev uplink up")
		}),
		w.guest.do(func() error {
			return ipBatch(ctx, fmt.Sprintf("addr add %s/24 dev eth0", p.four(2)), "link set dev eth0 up", fmt.Sprintf("route add default via %s", p.four(1)))
		}),
		w.away.do(func() (err error) {
			if err := ipBatch(ctx, "addr add "+outside+"/24 dev eth0", "link set dev eth0 up"); err != nil {
				return err
			}
			w.server, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(outside), 0)))
			return err
		}),
	)
}

// stream has the guest send as much as it can over one connection, and returns how much of that arrives, in Gbit/s.
func (w *streamWorld) stream(context.Context) (float64, error) {
	var c net.Conn
	err := w.guest.do(func() (err error) {
		c, err = net.DialTimeout("tcp", w.server.Addr().String(), offerWithin)
		return err
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		buf := make([]byte, 256<<10)
		for err := error(nil); err == nil; {
			_, err = c.Write(buf)
		}
	}()
	got, err := w.take()
	_ = c.Close() // whoever still writes fails
	<-sent
	return got, err
}

// take accepts a connection and measures what arrives.
func (w *streamWorld) take() (float64, error) {
	c, err := w.server.Accept()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	buf := make([]byte, 256<<10)
	if _, err := io.ReadFull(c, buf); err != nil { // it flows
		return 0, err
	}
	began, bytes := time.Now(), 0
	for time.Since(began) < streamFor {
		n, err := c.Read(buf)
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return float64(bytes) * 8 / float64(time.Since(began).Nanoseconds()), nil
}

// close ends the daemon, and the bridges, all at once: a namespace that is dropped with a thousand of them keeps the kernel
// busy for a while.
func (w *streamWorld) close(ctx context.Context) error {
	var errs []error
	if w.server != nil {
		errs = append(errs, w.server.Close())
	}
	if w.daemon != nil {
		errs = append(errs, w.daemon.close(ctx), w.ns.do(func() error {
			dropGroup(ctx, w.group)
			return nil
		}))
	}
	for _, ns := range []*netns{w.ns, w.guest, w.away} {
		errs = append(errs, ns.close())
	}
	return errors.Join(errs...)
}
