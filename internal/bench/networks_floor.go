package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"taproom/internal/host"
)

// netPlace is where the n-th network is.
type netPlace struct {
	n      int
	bridge string
	domain string
}

func placeOf(n int) netPlace {
	return netPlace{n, fmt.Sprintf("virbr%d", n), fmt.Sprintf("net%d.test", n)}
}

// four is a host's IPv4 address, in a /24.
func (p netPlace) four(host byte) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 64 + byte(p.n>>8), byte(p.n), host})
}

// six is a host's IPv6 address, in a /64.
func (p netPlace) six(host byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 0, 0x62, 0x65, 0, 0, byte(p.n >> 8), byte(p.n), 15: host})
}

// bareNetworks is what the kernel itself takes for the bridges of networks: no rules, and nobody who answers.
type bareNetworks struct {
	k       *host.Kernel
	each    []float64 // of the starts of one round
	removes []float64 // of every round
	more    []float64
}

func newBareNetworks() (*bareNetworks, error) {
	return &bareNetworks{k: host.New(host.Options{})}, nil
}

// run makes bridges with addresses, up, which is measured, and removes them one by one, which is measured too.
func (b *bareNetworks) run(ctx context.Context, n int) (took float64, err error) {
	var made []int
	defer func() {
		for _, index := range made { // when something failed
			err = errors.Join(err, b.k.DeleteLink(index))
		}
	}()
	b.each = b.each[:0]
	for i := range n {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		began := time.Now()
		index, err := b.bridge(placeOf(i))
		if index != 0 {
			made = append(made, index)
		}
		if err != nil {
			return 0, err
		}
		b.each = append(b.each, milliseconds(time.Since(began)))
	}
	began := time.Now()
	for ; len(made) > 0; made = made[1:] {
		if err := b.k.DeleteLink(made[0]); err != nil {
			return 0, err
		}
	}
	b.removes = append(b.removes, milliseconds(time.Since(began)))
	b.more = append(b.more, lastOf(b.each))
	return sum(b.each), nil
}

// bridge makes the bridge of a network.
func (b *bareNetworks) bridge(p netPlace) (int, error) {
	index, err := b.k.CreateBridge(host.BridgeSpec{Name: p.bridge, MAC: fmt.Sprintf("52:54:00:62:%02x:%02x", p.n>>8, p.n&0xff), Group: linkGroup})
	if err != nil {
		return 0, err
	}
	return index, errors.Join(
		b.k.AddAddress(index, netip.PrefixFrom(p.four(1), 24)),
		b.k.AddAddress(index, netip.PrefixFrom(p.six(1), 64)),
		b.k.SetUp(index, true),
	)
}

// derived are the rounds that count with so many networks.
func (b *bareNetworks) derived(n int) []Series {
	out := []Series{
		{Name: fmt.Sprintf("floor.%d.more", n), Unit: "ms", Samples: b.more[1:]},
		{Name: fmt.Sprintf("floor.%d.remove", n), Unit: "ms", Samples: b.removes[1:]},
	}
	b.more, b.removes = nil, nil
	return out
}

func (b *bareNetworks) close() error {
	b.k.Close()
	return nil
}
