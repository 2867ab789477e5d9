package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter/nftables"
)

const (
	// filterTable is what the tables are called.
	filterTable = "bench"
	// filterBatch is how many frames are under way before they are read: a tap keeps 500 at least
	// (drivers/net/tun.c, TUN_READQ_SIZE).
	filterBatch = 256
	// filterBatches is how many of these are a sample, each way.
	filterBatches = 40
)

// filteredName is the n-th NIC's link, filteredMAC and filteredIP are the addresses of the guest on it.
func filteredName(n int) string { return fmt.Sprintf("vnet%d", n) }

func filteredMAC(n int) net.HardwareAddr {
	return net.HardwareAddr{0x52, 0x54, 0, 0x66, byte(n >> 8), byte(n)}
}

func filteredIP(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 66, byte(n >> 8), byte(n)})
}

// filterWorld is a network namespace with the back end.
type filterWorld struct {
	ns      *netns
	k       *host.Kernel
	conn    *nft.Conn
	backend *nftables.Backend
	taps    []*host.Tap
}

// newFilterWorld makes one that filters nobody. With an error it returns what there is of it to be closed.
func newFilterWorld(ctx context.Context) (w *filterWorld, err error) {
	w = &filterWorld{}
	if w.ns, err = newNetns(); err != nil {
		return nil, err
	}
	w.k = host.New(host.Options{Run: w.ns.run})
	if w.conn, err = nft.Open(w.k); err != nil {
		return w, err
	}
	w.backend, err = nftables.Open(ctx, w.conn, w.k, filterTable)
	return w, err
}

func (w *filterWorld) close() error {
	var errs []error
	for _, t := range w.taps {
		errs = append(errs, t.Close())
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	w.k.Close()
	return errors.Join(append(errs, w.ns.close())...)
}

// filterPath is a bridge with a NIC that may be filtered and one that is not, and frames both ways.
type filterPath struct {
	w           *filterWorld
	guest, peer *host.Tap
	out, in     []byte    // frames of the guest and to it
	rules       []float64 // that a frame met, round by round
}

// path makes the links of the n-th NIC.
func (w *filterWorld) path(n int) (*filterPath, error) {
	const other = MostFiltered + 1
	p := &filterPath{w: w, out: filterFrame(n, other), in: filterFrame(other, n)}
	bridge, err := w.k.CreateBridge(host.BridgeSpec{Name: "br0"})
	if err != nil {
		return nil, err
	}
	for name, tap := range map[string]**host.Tap{filteredName(n): &p.guest, "other": &p.peer} {
		if *tap, err = w.k.CreateTap(host.TapSpec{Name: name}); err != nil {
			return nil, err
		}
		w.taps = append(w.taps, *tap)
		if err := errors.Join(w.k.SetMaster((*tap).Index, bridge), w.k.SetUp((*tap).Index, true)); err != nil {
			return nil, err
		}
	}
	return p, w.k.SetUp(bridge, true)
}

// filterFrame is a datagram of UDP, of 22 octets, between two NICs (RFC 791, RFC 768; without a checksum of UDP's).
func filterFrame(from, to int) []byte {
	const datagram, packet = 8 + 22, 20 + 8 + 22
	b := append(filteredMAC(to), filteredMAC(from)...)
	b = append(b, 0x08, 0x00)
	ip := []byte{0x45, 0, 0, packet, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}
	ip = append(append(ip, filteredIP(from).AsSlice()...), filteredIP(to).AsSlice()...)
	var total uint32
	for i := 0; i < len(ip); i += 2 {
		total += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	total = total>>16 + total&0xffff
	binary.BigEndian.PutUint16(ip[10:], ^uint16(total+total>>16))
	b = append(append(b, ip...), 0x10, 0, 0x10, 0, 0, datagram, 0, 0)
	return append(b, make([]byte, 22)...)
}

// run sends frames both ways and returns what one takes, in ns, from the write to the tap to its return: a frame passes the
// bridge and its filters in the call that sends it. The time of those who take the frames is not in it.
func (p *filterPath) run(ctx context.Context) (float64, error) {
	before, err := p.met(ctx)
	if err != nil {
		return 0, err
	}
	var took time.Duration
	for range filterBatches {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for _, way := range []struct {
			from, to *os.File
			frame    []byte
		}{{p.guest.Files[0], p.peer.Files[0], p.out}, {p.peer.Files[0], p.guest.Files[0], p.in}} {
			one, err := writeFrames(way.from, way.frame)
			if err == nil {
				err = readFrames(way.to, len(way.frame))
			}
			if err != nil {
				return 0, fmt.Errorf("frames through a bridge beside a filter: %w", err)
			}
			took += one
		}
	}
	after, err := p.met(ctx)
	if err != nil {
		return 0, err
	}
	const frames = 2 * filterBatches * filterBatch
	// To three decimals: the host may send a frame of its own through the bridge, which readFrames skips and a counter does not.
	p.rules = append(p.rules, math.Round(float64(after-before)/frames*1000)/1000)
	return float64(took.Nanoseconds()) / frames, nil
}

// met is how often rules were met.
func (p *filterPath) met(ctx context.Context) (total uint64, err error) {
	all, err := p.w.backend.Counters(ctx)
	for i := range all {
		total += all[i].Packets
	}
	return total, err
}

// writeFrames writes a batch.
func writeFrames(f *os.File, frame []byte) (took time.Duration, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		began := time.Now()
		for range filterBatch {
			if _, failed = unix.Write(int(fd), frame); failed != nil {
				return true
			}
		}
		took = time.Since(began)
		return true
	})
	return took, errors.Join(err, failed)
}

// readFrames takes a batch. What else the host says is of another length.
func readFrames(f *os.File, length int) error {
	if err := f.SetReadDeadline(time.Now().Add(offerWithin)); err != nil {
		return err
	}
	b := make([]byte, 1<<11)
	for got := 0; got < filterBatch; {
		n, err := f.Read(b)
		if err != nil {
			return fmt.Errorf("%d of %d came through: %w", got, filterBatch, err)
		}
		if n == length {
			got++
		}
	}
	return nil
}
