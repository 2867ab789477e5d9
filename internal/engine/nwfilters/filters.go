package nwfilters

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/learn"
	"taproom/internal/spec"
)

// Config is what Filters need.
type Config struct {
	Kernel      *host.Kernel
	Log         *slog.Logger
	Definitions string       // the folder of filters that are defined
	Bindings    string       // the folder of bindings that clients made; it does not outlive a boot
	Shipped     nwfilter.Set // those that come with taproom
	// Open opens what keeps the rules. It is called once, when the first link is filtered, and again after it failed.
	Open func(context.Context) (nwfilter.Backend, error)
	// Learn begins to learn addresses. It is called once, when the first NIC needs that.
	Learn   func(changed func([]learn.Change)) (Learner, error)
	Learned string // the folder of what was learned; it does not outlive a boot
	// Around is where the link of a NIC lies whose addresses are learned.
	Around       func(Binding) (Around, error)
	Context      context.Context        // the life of what happens by itself
	Damaged      func([]*store.Damaged) // files that cannot be read are reported
	Problem      func(string)           // what an administrator has to know of
	DocumentFits func(xml []byte) error
}

// Filters are the network filters of a host and their bindings. They implement server.NWFilters.
type Filters struct {
	cfg  Config
	defs *store.Store[head]
	made *store.Store[head]
	// learnt keeps what was learned of NICs' addresses, and known has it.
	learnt  *store.Store[learned]
	known   map[string][]learn.Learned
	learner Learner

	change  sync.Mutex // held by whoever changes a filter or a binding
	backend nwfilter.Backend
	// restored says that ports has all bindings, and certain that the back end has them, unless somebody else changes it.
	restored, certain bool

	mu       sync.RWMutex
	compiled *compilers         // of all filters, shipped and defined; replaced, its set is never changed
	ports    map[string]Binding // by the name of the link
	owned    map[string]bool    // names of the filters that are defined here
}

var _ server.NWFilters = (*Filters)(nil)

// head is what is kept of a filter or a binding beside its document.
type head struct {
	Name string    `json:"name"`
	UUID spec.UUID `json:"uuid"`
}

// Open reads what is defined, and what clients bound. Nothing is attached yet: Restore does that.
func Open(cfg Config) (*Filters, error) {
	f := &Filters{cfg: cfg, ports: map[string]Binding{}, known: map[string][]learn.Learned{}, owned: map[string]bool{}}
	set := nwfilter.Set{}
	maps.Copy(set, cfg.Shipped)
	var err error
	if f.defs, err = store.Open[head](cfg.Kernel, cfg.Definitions, true); err != nil {
		return nil, err
	}
	if f.made, err = store.Open[head](cfg.Kernel, cfg.Bindings, false); err != nil {
		return nil, err
	}
	if f.learnt, err = store.Open[learned](cfg.Kernel, cfg.Learned, false); err != nil {
		return nil, err
	}
	if err := f.loadLearned(); err != nil {
		return nil, err
	}
	if err := f.loadFilters(set); err != nil {
		return nil, err
	}
	f.compiled = newCompilers(set)
	return f, f.loadBindings()
}

// loadFilters adds what is defined to what comes with taproom.
func (f *Filters) loadFilters(set nwfilter.Set) error {
	items, damaged, err := f.defs.Load()
	if err != nil {
		return err
	}
	f.cfg.Damaged(damaged)
	for _, i := range items {
		doc, err := spec.ParseFilter(i.Doc)
		if err != nil || doc.UUID == nil || doc.UUID.String() != i.Key {
			f.cfg.Problem("the state file " + f.defs.Path(i.Key) + " of network filter '" + i.Head.Name + "' holds no such filter; it is left alone: define the filter again")
			continue
		}
		set[doc.Name], f.owned[doc.Name] = doc, true
	}
	return nil
}

// ListNWFilters implements server.NWFilters.
func (f *Filters) ListNWFilters() []server.NWFilter {
	set := f.filters()
	out := make([]server.NWFilter, 0, len(set))
	for _, doc := range set {
		out = append(out, refOf(doc))
	}
	slices.SortFunc(out, func(a, b server.NWFilter) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// NWFilterByName implements server.NWFilters.
func (f *Filters) NWFilterByName(name string) (server.NWFilter, error) {
	doc, ok := f.filters()[name]
	if !ok {
		return server.NWFilter{}, server.NoNWFilter(name)
	}
	return refOf(doc), nil
}

// NWFilterByUUID implements server.NWFilters.
func (f *Filters) NWFilterByUUID(uuid spec.UUID) (server.NWFilter, error) {
	doc, err := f.byUUID(uuid)
	if err != nil {
		return server.NWFilter{}, err
	}
	return refOf(doc), nil
}

// NWFilterXML implements server.NWFilters.
func (f *Filters) NWFilterXML(uuid spec.UUID) (string, error) {
	doc, err := f.byUUID(uuid)
	if err != nil {
		return "", err
	}
	return string(doc.Format()), nil
}

// filters are all filters there are now. The map is shared: do not change it.
func (f *Filters) filters() nwfilter.Set { return f.compilers().set }

// compilers returns the Compilers of the present filters.
func (f *Filters) compilers() *compilers {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.compiled
}

func (f *Filters) byUUID(uuid spec.UUID) (*spec.Filter, error) {
	for _, doc := range f.filters() {
		if *doc.UUID == uuid {
			return doc, nil
		}
	}
	return nil, server.NoNWFilterUUID(uuid)
}

func refOf(doc *spec.Filter) server.NWFilter { return server.NWFilter{Name: doc.Name, UUID: *doc.UUID} }

// with is a set with one more filter, or another one of its name.
func with(set nwfilter.Set, doc *spec.Filter) nwfilter.Set {
	out := maps.Clone(set)
	out[doc.Name] = doc
	return out
}

// Summary is a filter as people look at it.
type Summary struct {
	server.NWFilter
	Shipped bool     // it came with taproom and was not changed
	Refers  []string // to other filters
	NICs    int      // that use it, also through others
}

// Summaries are all filters, ordered by name.
func (f *Filters) Summaries() []Summary {
	set, users := f.filters(), map[string]int{}
	for _, b := range f.Bindings() {
		for name := range reached(set, b.Filter) {
			users[name]++
		}
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	out := make([]Summary, 0, len(set))
	for name, doc := range set {
		out = append(out, Summary{NWFilter: refOf(doc), Shipped: !f.owned[name], Refers: doc.References(), NICs: users[name]})
	}
	slices.SortFunc(out, func(a, b Summary) int { return strings.Compare(a.Name, b.Name) })
	return out
}
