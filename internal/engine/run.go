package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/engine/job"
	"taproom/internal/guest"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

// running is a guest that runs: its QEMU, and what was made for it.
type running struct {
	has  atomic.Pointer[hardware]
	proc *qemu.Process
	mon  *qmp.Client
	// Whoever holds the domain's slot changes these three.
	did       told
	saving    *saving // its state is being written to a file; nil when it is not
	unsettled bool    // it may have less than its hardware says: QEMU did not answer (see settle)

	trace      *job.Trace // nil when an earlier daemon started it
	booted     time.Time  // when its processors first ran; zero for a paused start
	balloonKiB atomic.Uint64
	rebooting  atomic.Bool // the power button was pressed so that it boots again
	settling   atomic.Bool // a start or a stop is under way: what QEMU tells meanwhile is no news
	orders     orders
	expected   expected
	lost       *sync.Map             // names of taps that somebody deleted
	adjusted   atomic.Pointer[int64] // how far the guest set its clock from UTC, until that is written down
	resets     resets                // the watching goroutine's alone
	agent      chan struct{}         // has whoever talks to the agent of the built-in guest
	guestAgent chan struct{}         // has whoever talks to qemu-guest-agent
	channels   channels
	filters    filters
	consoles   *consoles
	beside     *companions
	dumpError  atomic.Pointer[string] // what QEMU said of the last dump of its memory; nil when that is nothing
	cancel     context.CancelFunc     // ends the goroutine that watches it
	regained   time.Time              // when its monitor last broke; zero when it never did
}

// told is what the daemon last told a guest's processors to do, and why: that a guest stands still, QEMU knows as well.
type told struct{ state, reason int32 }

func newRunning(rec record, doc *spec.Domain) *running {
	run := &running{
		did: told{rec.State, rec.Reason}, saving: rec.Saving,
		agent: make(chan struct{}, 1), guestAgent: make(chan struct{}, 1),
		consoles: &consoles{}, beside: &companions{}, lost: &sync.Map{}, cancel: func() {},
	}
	run.has.Store(&hardware{rec: rec, head: headOf(doc), doc: doc})
	run.balloonKiB.Store(run.head().MemKiB)
	run.rebooting.Store(rec.Rebooting)
	return run
}

// record is what is to be written down of the guest when it consists of h. The caller holds the domain's slot.
func (run *running) record(h *hardware) record {
	r := h.rec
	r.State, r.Reason, r.Rebooting, r.Saving = run.did.state, run.did.reason, run.rebooting.Load(), run.saving
	return r
}

// again is a guest as it goes on with another connection to its QEMU. Readers have the first one, which does not change.
func (run *running) again() *running {
	next := newRunning(*run.rec(), run.doc())
	*next.rt() = *run.rt()
	next.proc, next.did, next.saving, next.unsettled = run.proc, run.did, run.saving, run.unsettled
	next.trace, next.booted, next.resets = run.trace, run.booted, run.resets
	next.agent, next.guestAgent = run.agent, run.guestAgent
	next.consoles, next.beside, next.lost, next.regained = run.consoles, run.beside, run.lost, run.regained
	next.balloonKiB.Store(run.balloonKiB.Load())
	next.rebooting.Store(run.rebooting.Load())
	return next
}

// letGo ends what the daemon has of a guest; the guest goes on.
func (run *running) letGo() {
	run.cancel()
	run.consoles.closeAll()
	run.channels.end()
	run.beside.letGo()
	if run.proc != nil {
		_ = run.proc.Close()
	}
}

// lastWords is what its QEMU wrote last.
func (run *running) lastWords() string {
	if run.proc == nil {
		return ""
	}
	return run.proc.LogTail()
}

// agentTurn waits until nobody else talks to the guest's agent.
func (run *running) agentTurn(ctx context.Context) (release func(), err error) {
	select {
	case run.agent <- struct{}{}:
		return func() { <-run.agent }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// channelNamed is the virtio channel of that name: the path of the host's end, "" when the guest has none on a socket, and
// its alias.
func (run *running) channelNamed(name string) (path, alias string) {
	for _, c := range run.live(false).Devices.Channels {
		if c.Target != nil && c.Target.Name == name && c.Type == "unix" && c.Source != nil && c.Alias != nil {
			return c.Source.Path, c.Alias.Name
		}
	}
	return "", ""
}

// live is the document of what runs.
func (run *running) live(secure bool) *spec.Domain {
	now := run.hardware()
	rt := now.rt
	for _, p := range now.rec.Ports {
		if run.isLost(p.Name) {
			rt.NICs = slices.Clone(rt.NICs)
			rt.NICs[p.NIC].Tap = ""
		}
	}
	doc := guest.Live(now.doc, rt, run.liveFacts(&now.rec), secure)
	if m := doc.CurrentMemory; m != nil { // doc is a copy
		m.Unit, m.Value = "KiB", strconv.FormatUint(run.balloonKiB.Load(), 10)
	}
	return doc
}

// liveFacts are what a document shows of a run.
func (run *running) liveFacts(rec *record) guest.LiveFacts {
	f := guest.LiveFacts{
		ID: rec.ID, PTYs: rec.PTYs, Label: rec.label(),
		Bridges: make([]string, rec.NICs), PortIDs: make([]string, rec.NICs), Directs: make([]guest.LiveDirect, rec.NICs), Shares: make([]*spec.NICShare, rec.NICs), Connected: run.channels.connected(),
	}
	for _, p := range rec.Ports {
		f.Shares[p.NIC] = p.Share
		if p.Network != "" {
			f.Bridges[p.NIC], f.PortIDs[p.NIC] = p.Bridge, p.ID
		}
		if p.Network != "" && p.Direct != nil {
			f.Directs[p.NIC] = guest.LiveDirect{Dev: p.Direct.Lower, Mode: p.Direct.Mode}
		}
	}
	return f
}

// label is the user that QEMU runs as, where that is one of its own.
func (r *record) label() string {
	if r.UID == uint32(os.Geteuid()) {
		return ""
	}
	return fmt.Sprintf("+%d:+%d", r.UID, r.UID)
}

// places of one guest's files.
type places struct{ dir, log string }

func (e *Engine) places(d *domain) places {
	return places{dir: e.paths.Guest(d.uuid.String()), log: filepath.Join(e.paths.Logs(), d.label+".log")}
}

func (p places) qmp() string { return filepath.Join(p.dir, "qmp.sock") }
func (p places) pid() string { return filepath.Join(p.dir, pidName) }

// pidName is the name of the file that says which process a guest's QEMU is.
const pidName = "pid"
