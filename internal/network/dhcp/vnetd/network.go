package vnetd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"taproom/internal/network/dhcp"
)

// batch is how many messages share one write to the lease file.
const batch = 64

// network is one network being served: a socket, a lease file, and the goroutine between them.
type network struct {
	link   *link
	holder *os.File // holds port 67; nil when somebody else does
	finger string
	report func(dhcp.Event)
	now    func() time.Time
	stop   chan struct{} // closed to end the goroutine
	done   chan struct{} // closed when it has ended

	mu      sync.Mutex // held while a batch is worked on; below it
	server  *dhcp.Server
	log     *leaseLog
	stats   dhcp.Stats
	checked int64 // leases that ended up to then were reported
	asked   bool  // a compaction was asked for
}

// run serves until stop. It is the network's only goroutine.
func (n *network) run() {
	defer close(n.done)
	var limit bucket
	for {
		n.arm()
		f, err := n.link.receive(true)
		select {
		case <-n.stop:
			return
		default:
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			n.expire()
			continue
		case err != nil:
			if i, _, berr := n.link.bound(); berr != nil || i < 0 {
				<-n.stop // the bridge is gone for good: the daemon sees it in the list and sets the network again
				return
			}
			continue // ENETDOWN: reported once, and the socket works again when the bridge is up
		}
		if wait := n.work(f, &limit); wait > 0 {
			select {
			case <-n.stop:
				return
			case <-time.After(wait):
			}
		}
	}
}

// arm lets the next receive end in time for the next lease that ends.
func (n *network) arm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.stop:
		return // halt has set a deadline that must stay
	default:
	}
	var at time.Time
	if next := n.server.NextExpiry(); next != 0 {
		at = time.Unix(next, 0)
	}
	_ = n.link.file.SetReadDeadline(at) // fails on a closed file alone, and then receive does too
}

// halt ends the goroutine and waits for it. The files stay open.
func (n *network) halt() {
	n.mu.Lock()
	close(n.stop)
	_ = n.link.file.SetReadDeadline(time.Unix(1, 0))
	n.mu.Unlock()
	<-n.done
}

func (n *network) close() {
	n.link.file.Close()
	n.log.close()
	if n.holder != nil {
		n.holder.Close()
	}
}

// work answers a frame and those that wait behind it. Everything they change is stored before any of them is answered.
func (n *network) work(f frame, limit *bucket) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, own, err := n.link.bound()
	if err != nil {
		return 0
	}
	now := n.now()
	var wait time.Duration
	var changes []dhcp.Change
	var replies []*dhcp.Reply
	for range batch {
		n.stats.Received++
		if wait = limit.take(now); wait > 0 {
			n.refuse(dhcp.RefuseRate)
			break
		}
		reply, change, err := n.handle(f, own, now.Unix())
		var why dhcp.Refusal
		if errors.As(err, &why) {
			n.refuse(why)
		}
		changes = append(changes, change...)
		if reply != nil {
			replies = append(replies, reply)
		}
		if f, err = n.link.receive(false); err != nil {
			break
		}
	}
	if err := n.log.append(changes); err != nil {
		n.refuse(dhcp.RefuseStorage)
		return wait
	}
	for _, r := range replies {
		if n.link.send(r.Frame(own, n.server.Network().Server)) == nil {
			n.stats.Answered++
		}
	}
	n.tell(changes)
	return wait
}

func (n *network) handle(f frame, own dhcp.MAC, now int64) (*dhcp.Reply, []dhcp.Change, error) {
	if !f.toUs {
		return nil, nil, dhcp.RefuseForeign
	}
	p, err := dhcp.ParseFrame(f.data, f.partial)
	if err != nil {
		return nil, nil, err
	}
	if p.Source == own {
		return nil, nil, dhcp.RefuseSource
	}
	return n.server.Handle(p, now)
}

func (n *network) refuse(why dhcp.Refusal) {
	if n.stats.Refused == nil {
		n.stats.Refused = map[dhcp.Refusal]uint64{}
	}
	n.stats.Refused[why]++
}

func (n *network) expire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now().Unix()
	gone := n.server.Expire(n.checked, now)
	n.checked = now
	n.tell(gone)
}

// tell reports changes, and once that the lease file has become mostly history.
func (n *network) tell(changes []dhcp.Change) {
	id := n.server.Network().UUID
	for _, c := range changes {
		n.report(dhcp.Event{Network: id, Change: &c})
	}
	if !n.asked && n.log.records > compactSlack+4*n.server.Remembered() {
		n.asked = true
		n.report(dhcp.Event{Network: id, Compact: true})
	}
}

// compactSlack is how many lines of history a lease file may have whatever its size.
const compactSlack = 1000

func (n *network) observed() dhcp.Observed {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.server.Network()
	index, _, err := n.link.bound()
	if err != nil {
		index = -1
	}
	return dhcp.Observed{UUID: c.UUID, Bridge: c.Bridge, Index: index, Fingerprint: n.finger, Damaged: n.log.damaged}
}

func (n *network) leases() []dhcp.Lease {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server.Leases(n.now().Unix())
}

func (n *network) statistics() dhcp.Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stats.Dropped += n.link.dropped()
	s := n.stats
	s.Refused = maps.Clone(s.Refused)
	s.Records = n.log.records
	s.Leases = len(n.server.Leases(n.now().Unix()))
	return s
}

func (n *network) compact(to *os.File) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	st, err := to.Stat()
	if err != nil {
		return err
	}
	if st.Size() != 0 {
		return fmt.Errorf("the new lease file has %d bytes already", st.Size())
	}
	if err := n.log.compact(to, n.server.History()); err != nil {
		return err
	}
	return nil
}

func (n *network) commit() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = false
	return n.log.commit(n.server.Remembered())
}
