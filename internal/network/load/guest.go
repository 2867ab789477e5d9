package load

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/host"
)

// Guest is a namespace whose only card is a cable to the tap of a guest.
type Guest struct {
	card  *host.Tap
	far   *os.File
	tasks sync.WaitGroup
	sent  atomic.Int64 // the largest frame that came from it, in bytes
	got   atomic.Int64 // and the largest to it
}

// Card is a guest's network card.
type Card struct {
	Name      string
	Addresses []netip.Prefix
	MTU       int // 0: the kernel's 1500
}

// NewGuest makes a card in a guest's namespace and plugs it into the one descriptor of a tap, or of a macvtap, of the host.
// Both carry frames with a virtio-net header. The guest's MAC is what address says, six bytes. Close it; the descriptor of
// the host's is the caller's.
func NewGuest(inside, outside *host.Kernel, tap *host.Tap, card Card, address []byte) (*Guest, error) {
	own, err := inside.CreateTap(host.TapSpec{Name: card.Name, VNetHdr: true})
	if err != nil {
		return nil, err
	}
	g := &Guest{card: own, far: tap.Files[0]}
	err = errors.Join(inside.Offload(own), outside.Offload(tap))
	if err == nil {
		err = raise(inside, own.Index, card, address)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a guest behind %s: %w", tap.Name, err), own.Close())
	}
	g.tasks.Go(func() { pump(own.Files[0], g.far, &g.sent) })
	g.tasks.Go(func() { pump(g.far, own.Files[0], &g.got) })
	return g, nil
}

// Close ends the guest: its card goes. The host's descriptor stays open.
func (g *Guest) Close() error {
	past := time.Unix(1, 0)
	err := errors.Join(g.card.Files[0].SetDeadline(past), g.far.SetDeadline(past))
	g.tasks.Wait()
	return errors.Join(err, g.far.SetDeadline(time.Time{}), g.card.Close())
}

// Largest says how large the largest frames were that the guest sent and got, in bytes.
func (g *Guest) Largest() (sent, got int) { return int(g.sent.Load()), int(g.got.Load()) }

const (
	frameSize   = 64<<10 + 256 // the largest segment with its headers, IPv6's and virtio's among them
	virtioBytes = 10           // a virtio-net header, as taps have it unless told otherwise
)

// pump carries frames until one end is closed or its deadline has passed. What the other end refuses is lost, as on a cable.
func pump(from, to *os.File, largest *atomic.Int64) {
	buf := make([]byte, frameSize)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		largest.Store(max(largest.Load(), int64(n-virtioBytes)))
		if _, err := to.Write(buf[:n]); errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			return
		}
	}
}

// raise gives a link its addresses and brings it up.
func raise(k *host.Kernel, index int, card Card, address []byte) error {
	if address != nil {
		if err := k.SetMAC(index, net.HardwareAddr(address).String()); err != nil {
			return err
		}
	}
	if card.MTU != 0 {
		if err := k.SetMTU(index, card.MTU); err != nil {
			return err
		}
	}
	// An address that waits to be checked as free cannot be sent from.
	if err := k.SetSysctl("net/ipv6/conf/"+card.Name+"/accept_dad", "0"); err != nil {
		return err
	}
	for _, a := range card.Addresses {
		if err := k.AddAddress(index, a); err != nil {
			return err
		}
	}
	return k.SetUp(index, true)
}
