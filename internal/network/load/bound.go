package load

import (
	"errors"

	"taproom/internal/host"
	"taproom/internal/network/qos"
)

// Bound is a link whose traffic is bounded, by the queues that the product would give it and without the product. Close it.
type Bound struct {
	Fair bool // flows take turns, where the kernel can (probe.FairQueue)

	kernel          *host.Kernel
	link, other     int // the link, and the one that what comes in through it takes first
	macvtap, joined bool
}

// NewBound prepares a link; nothing is bounded yet. The other link has that name. On a macvtap the directions are the other way
// round than on a tap: what the guest sends leaves through it.
func NewBound(k *host.Kernel, link int, name string, macvtap bool) (*Bound, error) {
	b := &Bound{kernel: k, link: link, macvtap: macvtap}
	err := b.talk(func(p *host.Pipeline, done func(error)) {
		p.CreateIFB(name, 0, func(index int, err error) {
			b.other = index
			done(err)
		})
	})
	if err == nil {
		if err = k.SetUp(b.other, true); err != nil {
			err = errors.Join(err, b.Close())
		}
	}
	return b, err
}

// Set bounds both directions; what waits goes on waiting. A direction without an average is as fast as it gets.
func (b *Bound) Set(l qos.Limits, mtu int) error {
	leaves, enters := b.queue(l.In, mtu), b.queue(l.Out, mtu)
	if b.macvtap {
		leaves, enters = enters, leaves
	}
	bounded := enters != host.TBF{}
	return b.talk(func(p *host.Pipeline, done func(error)) {
		bucket(p, b.link, leaves, done)
		bucket(p, b.other, enters, done)
		switch {
		case bounded && !b.joined:
			p.Redirect(b.link, b.other, done)
			b.joined = true
		case !bounded && b.joined:
			p.DelRedirect(b.link, done)
			b.joined = false
		}
	})
}

func (b *Bound) queue(l qos.Limit, mtu int) host.TBF {
	q := qos.Queue{Bucket: l.Bucket(mtu), MTU: mtu}
	if b.Fair {
		q = q.Fair()
	}
	return q.Bucket
}

func bucket(p *host.Pipeline, index int, t host.TBF, done func(error)) {
	if (t == host.TBF{}) {
		p.DelQueue(index, host.BucketHandle, done)
		return
	}
	p.SetTBF(index, t, done)
}

// talk has one conversation with the kernel.
func (b *Bound) talk(say func(p *host.Pipeline, done func(error))) error {
	var all error
	p := b.kernel.Pipeline()
	say(p, func(err error) { all = errors.Join(all, err) })
	p.Flush()
	return all
}

// Close removes the other link. What bounds the link itself stays, and goes with it.
func (b *Bound) Close() error { return b.kernel.DeleteLink(b.other) }
