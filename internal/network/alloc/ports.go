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

// Take returns a port that is neither held nor in use by somebody else on any address, or on those given.
func (p *Ports) Take(addrs ...netip.Addr) (uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := p.used.gap(0); i < p.used.size; i = p.used.gap(i + 1) {
		port := p.first + uint16(i)
		free, err := p.kernel.PortFree(port, addrs...)
		if err != nil {
			return 0, err
		}
		if free {
			p.used.set(i)
			return port, nil
		}
	}
	return 0, fmt.Errorf("ports %d to %d: %w", p.first, p.last, ErrExhausted)
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
