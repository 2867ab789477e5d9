package alloc

import (
	"fmt"
	"net/netip"
	"sync"

	"taproom/internal/host"
)

// Ports hands out TCP ports of a range, the lowest free one first, since people type them. Each is tried before it is
// handed out; the server that gets it may still find that somebody was quicker.
type Ports struct {
	kernel      *host.Kernel
	first, last uint16

	mu   sync.Mutex
	used bitmap
}

// NewPorts returns an allocator for the ports first to last, both included.
func NewPorts(k *host.Kernel, first, last uint16) (*Ports, error) {
	if first == 0 || last < first {
		return nil, fmt.Errorf("ports %d to %d: not a range", first, last)
	}
	return &Ports{kernel: k, first: first, last: last, used: bitmap{size: int(last-first) + 1}}, nil
}

// Take returns a port that is neither held nor in use by somebody else on any address, or on those given. One that is in
// use is not marked: it is tried again the next time.
func (p *Ports) Take(addrs ...netip.Addr) (uint16, error) {
	for i, ok := p.hold(0); ok; i, ok = p.hold(i + 1) {
		port := p.first + uint16(i)
		free, err := p.kernel.PortFree(port, addrs...) // nobody waits for this: the port is held while it is tried
		if free && err == nil {
			return port, nil
		}
		p.Release(port)
		if err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("ports %d to %d: %w", p.first, p.last, ErrExhausted)
}

// hold marks the first one that is not held, from the i-th of the range on.
func (p *Ports) hold(i int) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i = p.used.gap(&bitmap{}, i)
	if i >= p.used.size {
		return 0, false
	}
	p.used.set(i)
	return i, true
}

// Reserve marks a port that is in use or was asked for by number. ErrTaken when it is marked already. A port outside the
// range is none of the allocator's.
func (p *Ports) Reserve(port uint16) error {
	if port < p.first || port > p.last {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.used.set(int(port - p.first)) {
		return fmt.Errorf("port %d: %w", port, ErrTaken)
	}
	return nil
}

// Release gives a port back.
func (p *Ports) Release(port uint16) {
	if port < p.first || port > p.last {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used.clear(int(port - p.first))
}
