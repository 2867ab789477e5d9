package engine

import (
	"sync"
	"sync/atomic"

	"taproom/internal/api/server"
	"taproom/internal/engine/job"
	"taproom/internal/spec"
)

// domain is one guest, running or not. Readers take its view, which never changes once it is published; whoever changes
// something holds the slot.
type domain struct {
	uuid  spec.UUID
	label string // the name; it does not change
	slot  job.Slot
	jobs  jobs
	mu    sync.Mutex // orders updates of the view
	seen  atomic.Pointer[view]
}

// view is what is true of a domain at one moment.
type view struct {
	ref server.Domain
	def *defined // nil for a transient domain
	run *running // nil when it does not run
}

// exists reports whether there is anything to show: a domain that is just being made, or is just gone, has neither.
func (v *view) exists() bool { return v.def != nil || v.run != nil }

// defined is the persistent definition.
type defined struct {
	head definition
	xml  []byte
}

func (d *domain) id() spec.UUID { return d.uuid }
func (d *domain) name() string  { return d.label }
func (d *domain) view() *view   { return d.seen.Load() }

// update publishes a changed copy of the view and returns it.
func (d *domain) update(change func(v *view)) *view {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := *d.seen.Load()
	change(&v)
	d.seen.Store(&v)
	return &v
}

// setState publishes a state of a run and reports whether it is news. Who says it first gives the reason: QEMU's own word
// for a change that a client asked for comes after the client's. What is said of a run that has ended is no news.
func (d *domain) setState(run *running, state, reason int32) (v *view, changed bool) {
	v = d.update(func(v *view) {
		if changed = v.run == run && v.ref.State != state; changed {
			v.ref.State, v.ref.Reason = state, reason
		}
	})
	return v, changed
}

// newDomain returns a domain that does not run.
func newDomain(uuid spec.UUID, name string, def *defined) *domain {
	d := &domain{uuid: uuid, label: name}
	v := &view{
		ref: server.Domain{Name: name, UUID: uuid, ID: -1, State: server.DomainShutoff, Persistent: def != nil},
		def: def,
	}
	if def != nil {
		v.ref.Autostart = def.head.Autostart
	}
	d.seen.Store(v)
	return d
}
