package vnetd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
	"taproom/internal/network/packet"
)

// batch is how many messages share one write to the lease file.
const batch = 64

// compactSlack is how many lines of history a lease file may have whatever its size.
const compactSlack = 1000

// network is one network being served: a goroutine between a packet socket and a lease file, and the servers of names.
type network struct {
	all  *networks
	loop loop
	say  speakers

	mu     sync.Mutex // held while a batch is worked on; below it
	cores  *services
	held   held
	link   *link // nil: nothing is served that needs frames
	finger string
	log    *leaseLog
	stats  helper.Stats
	asked  bool // a compaction was asked for
}

// start serves a network that was not served.
func (t *networks) start(c helper.Network, h held, file *os.File) (*network, error) {
	n := &network{all: t}
	if file == nil {
		return nil, fmt.Errorf("serve network %s: it came without a lease file", c.UUID)
	}
	log, leases, err := openLog(file, t.disk, t.clock)
	if err != nil {
		return nil, fmt.Errorf("serve network %s: %w", c.UUID, err)
	}
	log.hook = t.hook
	if err := n.install(c, h, log, leases); err != nil {
		return nil, err
	}
	n.loop.start(n)
	return n, nil
}

// become serves another configuration, or from other sockets, or into another lease file if there is one. Clients notice
// nothing. When it fails, all is as it was.
func (n *network) become(c helper.Network, h held, file *os.File) error {
	n.loop.halt(n)
	defer n.loop.start(n)
	log, history := n.log, n.cores.history()
	if file != nil {
		var err error
		if log, _, err = openLog(file, n.all.disk, n.all.clock); err != nil {
			return fmt.Errorf("serve network %s: %w", c.UUID, err)
		}
		log.hook = n.all.hook
		// Somebody may have removed the file: what is known is more than it has.
		if log.records == 0 && len(history) > 0 {
			if err := log.write(history); err != nil {
				return fmt.Errorf("write the leases of network %s to their new file: %w", c.UUID, err)
			}
		}
	}
	old, oldLog := n.held, n.log
	if err := n.install(c, h, log, history); err != nil {
		return err
	}
	old.closeExcept(h)
	if log != oldLog {
		oldLog.close()
	}
	return nil
}

// install puts everything into place, or nothing.
func (n *network) install(c helper.Network, h held, log *leaseLog, leases []lease.Lease) error {
	var l *link
	if f := h.file(helper.DescFrames); f != nil {
		var err error
		if l, err = newLink(f, n.all.rooms); err != nil {
			return fmt.Errorf("serve network %s: %w", c.UUID, err)
		}
		l.hook = n.all.hook
	}
	now := n.all.clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cores != nil {
		n.tell(n.cores.expire(now))
	}
	cores, err := newServices(c, leases, n.cores, now)
	if err != nil {
		return err
	}
	if err := n.say.speak(n.all, c, h, cores.running(now)); err != nil {
		return err
	}
	if l != nil {
		if _, own, err := l.bound(); err == nil {
			cores.ahead(own, now)
		}
	}
	n.cores, n.held, n.link, n.log, n.finger = cores, h, l, log, c.Fingerprint()
	return nil
}

// end stops serving for good: guests are told that their router is one no more.
func (n *network) end() {
	n.loop.halt(n)
	if n.cores.router != nil && n.link != nil {
		if _, own, err := n.link.bound(); err == nil {
			if f := n.cores.router.Stop(own, n.cores.config.LinkLocal, n.all.clock.Now()); f != nil {
				_ = n.link.send(f) // a bridge that is down has nobody to tell
			}
		}
	}
	n.halt()
	n.all.leave(n.held)
}

// close stops serving without a word.
func (n *network) close() {
	n.halt()
	n.held.closeExcept(nil)
}

func (n *network) halt() {
	n.loop.halt(n)
	n.say.hush()
	n.log.close()
}

// serve answers frames until it is told to stop.
func (n *network) serve(stop <-chan struct{}) {
	var limit limits
	for {
		n.arm(stop)
		f, err := n.link.receive(true)
		select {
		case <-stop:
			return
		default:
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			n.guard(n.tick)
			continue
		case err != nil:
			if i, _, berr := n.link.bound(); berr != nil || i < 0 {
				<-stop // the bridge is gone for good: the daemon sees it in the list and sets the network again
				return
			}
			continue // ENETDOWN: reported once, and the socket works again when the bridge is up
		}
		var wait time.Duration
		n.guard(func() { wait = n.work(f, &limit) })
		if wait > 0 {
			select {
			case <-stop:
				return
			case <-time.After(wait):
			}
		}
	}
}

// guard contains a fault: the message that led to it is lost, and what the network had in memory is read from its file
// again. Other networks do not hear of it, nor does this one's next message.
func (n *network) guard(f func()) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.stats.Faults++
		id := n.cores.config.UUID
		n.all.report(helper.Event{Network: id, Failed: fmt.Sprintf("a message led to a fault, please report it: %v at %s", fault, place(debug.Stack()))})
		now := n.all.clock.Now()
		leases, err := n.log.read()
		if err == nil {
			var cores *services
			if cores, err = newServices(n.cores.config, leases, nil, now); err == nil {
				n.cores = cores
			}
		}
		if err != nil {
			n.all.report(helper.Event{Network: id, Failed: "after that fault: " + err.Error()})
		}
	}()
	f()
}

// place is the line of a stack that a fault came from.
func place(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+3])
		}
	}
	return "an unknown place"
}

// arm lets the next receive end in time for what is due next.
func (n *network) arm(stop <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-stop:
		return // halt has set a deadline that must stay
	default:
	}
	var at time.Time
	if due := n.cores.due(); due != lease.Never {
		at = time.Now().Add(time.Duration(due-n.all.clock.Now()) * time.Second)
	}
	_ = n.link.file.SetReadDeadline(at) // fails on a closed file alone, and then receive does too
}

// work answers a frame and those that wait behind it. Everything they change is stored before any of them is answered.
func (n *network) work(f frame, limit *limits) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, own, err := n.link.bound()
	if err != nil {
		return 0
	}
	began := time.Now()
	now := n.all.clock.Now()
	n.tell(n.cores.expire(now)) // before somebody gets such a lease anew
	var wait time.Duration
	var changes []lease.Change
	var answers [][]byte
	for range batch {
		n.stats.Received++
		if wait = limit.take(packet.Type(f.data), began); n.all.noLimit {
			wait = 0
		}
		switch {
		case wait == 0:
			answer, change := n.handle(f, own, now)
			changes = append(changes, change...)
			if answer != nil {
				answers = append(answers, answer)
			}
		case packet.Type(f.data) == packet.TypeARP: // is only listened to: what comes behind it need not wait
			n.refuse(packet.RefuseRate)
			wait = 0
		default:
			n.refuse(packet.RefuseRate)
		}
		if wait > 0 {
			break
		}
		if f, err = n.link.receive(false); err != nil {
			break
		}
	}
	if n.store(changes) {
		n.stats.Answered += n.send(answers)
	}
	if len(answers) > 0 {
		n.cores.ahead(own, now)
	}
	return wait
}

// handle has the cores answer a frame.
func (n *network) handle(f frame, own packet.MAC, now int64) ([]byte, []lease.Change) {
	n.all.hook.at(StepFrame)
	answer, changes, err := n.cores.handle(f, own, now)
	var why packet.Refusal
	if errors.As(err, &why) {
		n.refuse(why)
	}
	return answer, changes
}

// tick does what is due.
func (n *network) tick() {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, own, err := n.link.bound()
	if err != nil {
		return
	}
	now := n.all.clock.Now()
	changes, frames := n.cores.tick(own, now)
	n.tell(changes)
	n.send(frames)
	n.cores.ahead(own, now)
}

// send sends frames and returns how many went.
func (n *network) send(frames [][]byte) uint64 {
	var sent uint64
	for _, f := range frames {
		if n.link.send(f) == nil {
			sent++
		}
	}
	return sent
}

// store writes changes down and tells of them; false if they cannot be stored.
func (n *network) store(changes []lease.Change) bool {
	if err := n.log.append(changes); err != nil {
		n.refuse(packet.RefuseStorage)
		return false
	}
	n.tell(changes)
	return true
}

func (n *network) refuse(why packet.Refusal) {
	if n.stats.Refused == nil {
		n.stats.Refused = map[packet.Refusal]uint64{}
	}
	n.stats.Refused[why]++
}

// tell reports changes, names clients, and says once that the lease file has become mostly history.
func (n *network) tell(changes []lease.Change) {
	id := n.cores.config.UUID
	for _, c := range changes {
		n.say.name(c)
		n.all.report(helper.Event{Network: id, Change: &helper.Change{Kind: c.Kind, Lease: n.all.clock.Record(c.Lease)}})
	}
	if !n.asked && n.log.records > compactSlack+4*n.cores.remembered() {
		n.asked = true
		n.all.report(helper.Event{Network: id, Compact: true})
	}
}

// lookup answers as a guest would be.
func (n *network) lookup(ctx context.Context, name, kind string) (helper.Answer, error) {
	n.mu.Lock()
	s := n.say.dns
	n.mu.Unlock()
	if s == nil {
		return helper.Answer{}, fmt.Errorf("network %s has no DNS: <dns enable='no'/>", n.config().UUID)
	}
	a, err := s.Lookup(ctx, name, kind)
	return helper.Answer{Status: a.Rcode, Records: a.Records, Source: a.Source}, err
}
