package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/engine/hook"
	"taproom/internal/engine/lanbridge"
	"taproom/internal/engine/nwfilters"
	"taproom/internal/engine/storage"
	"taproom/internal/engine/store"
	"taproom/internal/host"
	"taproom/internal/network/alloc"
	"taproom/internal/spec"
)

// Config is what an Engine needs from outside.
type Config struct {
	Kernel   *host.Kernel
	Paths    Paths
	Root     string
	Session  *Session // the user of a daemon without root; nil is the machine's daemon
	Log      *slog.Logger
	Emulator string // the QEMU of documents that name none
	Launch   string // taproom-launch
	Vnet     string // taproom-vnet
	// ResolvConf is the host's own; empty is /etc/resolv.conf. It is the machine's, whatever the root.
	ResolvConf string

	UIDFirst, UIDLast uint32 // running guests and the network helper get one each
	VNCFirst, VNCLast uint16
	ReadyWithin       time.Duration // how long QEMU may take until its monitor answers; 0 is 30 s
	GoneWithin        time.Duration // how long a killed QEMU may take to be gone; 0 is 10 s
	FirewallBackend   string        // "" is auto; see CheckFirewallBackend
	SystemBus         string        // "" is where it usually listens
	LeaveLinks        bool          // what others do to links is not put back while the daemon runs
	LeaveRules        bool          // nor what they do to the firewall's rules and to forwarding
	ShareTables       bool          // others may change the firewall's tables, also where the kernel could keep them from that
	MACFilter         bool          // guests send with their NICs' own addresses alone, where their documents do not say otherwise
	OVSSocket         string        // of Open vSwitch's database; "" is where the distributions have it
	OVSWithin         time.Duration // how long that may take to answer, and the switch to take a change up; 0 is 5 s
	Identity          Identity
	// SaveFormat and DumpFormat are how saved guests and core dumps are kept; "" is raw. See CheckImageFormat.
	SaveFormat, DumpFormat string
}

// Engine keeps the guests and networks of one host. It implements server.Backend.
type Engine struct {
	cfg   Config
	k     *host.Kernel
	log   *slog.Logger
	paths Paths

	domains     *registry[*domain]
	networks    *registry[*network]
	definitions *store.Store[definition] // of domains
	netDefs     *store.Store[definition]
	records     *store.Store[record]
	actives     *store.Store[activeNetwork]
	madePorts   madePorts
	sysctls     sysctlLog
	hooks       hook.Hooks

	links    *alloc.Links
	names    *alloc.Names // of taps
	macvtaps *alloc.Names
	macvlans *alloc.Names // of the host's own
	access   accesses
	claimed  claims // names of links that documents chose
	bridges  *alloc.Names
	ports    *alloc.Ports // of displays
	webPorts *alloc.Ports // of displays' websockets
	uids     users
	nextID   atomic.Int32

	*hub
	*facts
	*fabric
	floors floors
	*storage.Pools
	server.NWFilters // is nwfilters

	nwfilters *nwfilters.Filters
	cgroup    string // where guests' cgroups hang
	problem   problems
	troubles  *troubles
	healer    healer
	now       func() time.Time
	left      leftovers
	// networksLeft are starts of networks that failed and whose parts are not gone yet.
	networksLeft networkLeftovers
	switches     switches
	why          whyNot
	glances      glances
	repairs      *store.Store[repaired]
	lan          *lanbridge.Mover // nil in a session
	orphans      orphans
	work         sync.WaitGroup // goroutines that belong to the engine
	ctx          context.Context
	cancel       context.CancelFunc
}

var _ server.Backend = (*Engine)(nil)

// readyWithin is how long QEMU may take until its monitor answers, when nobody says otherwise: about 100 times what it needs.
const readyWithin = 30 * time.Second

// New takes over what an earlier daemon left, whole or half-made, and starts what should start by itself. ctx bounds
// taking over; the engine lives until Close.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.ReadyWithin == 0 {
		cfg.ReadyWithin = readyWithin
	}
	if cfg.ResolvConf == "" {
		cfg.ResolvConf = resolvConf
	}
	e := &Engine{
		cfg: cfg, k: cfg.Kernel, log: cfg.Log, paths: cfg.Paths,
		domains: newRegistry[*domain](), networks: newRegistry[*network](),
		hub: newHub(), troubles: newTroubles(), now: time.Now,
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, step := range e.begin() {
		if err := step(ctx); err != nil {
			e.Close()
			return nil, err
		}
	}
	return e, nil
}

// Close lets go of everything. Guests and networks stay as they are.
func (e *Engine) Close() {
	e.cancel()
	for _, d := range e.domains.all() {
		if run := d.view().run; run != nil {
			run.letGo()
		}
	}
	if e.nwfilters != nil {
		e.nwfilters.Close()
	}
	e.work.Wait()
	if e.lan != nil {
		e.lan.Close()
	}
	e.closeFabric()
	if e.cgroup != "" {
		_ = e.k.Remove(e.cgroup) // stays while a guest is in it
	}
}

// openPlaces makes the directories and opens what is written in them.
func (e *Engine) openPlaces(context.Context) (err error) {
	for _, dir := range []string{e.paths.Guests(), e.paths.Leases(), e.paths.Logs(), e.paths.Cache, e.paths.Boot()} {
		if err := e.k.Mkdir(dir, 0o711); err != nil {
			return err
		}
	}
	if e.definitions, err = store.Open[definition](e.k, e.paths.Domains(), true); err != nil {
		return err
	}
	if e.netDefs, err = store.Open[definition](e.k, e.paths.Networks(), true); err != nil {
		return err
	}
	if e.records, err = store.Open[record](e.k, e.paths.Records(), false); err != nil {
		return err
	}
	if e.actives, err = store.Open[activeNetwork](e.k, e.paths.ActiveNetworks(), false); err != nil {
		return err
	}
	if err = e.openMadePorts(); err != nil {
		return err
	}
	if e.sysctls.Store, err = store.Open[changedSysctl](e.k, e.paths.Sysctls(), true); err != nil {
		return err
	}
	return e.openCgroup()
}

// openAllocators prepares what hands out names and numbers.
func (e *Engine) openAllocators(context.Context) (err error) {
	e.links = alloc.NewLinks()
	if e.names, err = e.links.Of(tapTemplate); err != nil {
		return err
	}
	if e.macvtaps, err = e.links.Of(macvtapTemplate); err != nil {
		return err
	}
	if e.macvlans, err = e.links.Of(macvlanTemplate); err != nil {
		return err
	}
	if e.bridges, err = e.links.Of(bridgeTemplate); err != nil {
		return err
	}
	if e.ports, err = alloc.NewPorts(e.k, e.cfg.VNCFirst, e.cfg.VNCLast); err != nil {
		return err
	}
	if e.webPorts, err = alloc.NewPorts(e.k, webSocketFirst, webSocketLast); err != nil {
		return err
	}
	if s := e.cfg.Session; s != nil {
		e.uids = sameUser(s.UID)
		return nil
	}
	e.uids, err = alloc.NewIDs(e.cfg.UIDFirst, e.cfg.UIDLast)
	return err
}

// loadDefinitions reads what is defined. Damaged files are set aside and stay in the list of problems.
func (e *Engine) loadDefinitions(context.Context) error {
	err := load(e, "domain", e.definitions, func(h definition, xml []byte) (spec.UUID, bool) {
		holder, ok := e.domains.add(newDomain(h.UUID, h.Name, &defined{head: h, xml: xml}))
		return holder.id(), ok
	})
	if err != nil {
		return err
	}
	return load(e, "network", e.netDefs, func(h definition, xml []byte) (spec.UUID, bool) {
		holder, ok := e.networks.add(newNetwork(h.UUID, h.Name, &defined{head: h, xml: xml}))
		return holder.id(), ok
	})
}

// openStorage takes over the storage pools.
func (e *Engine) openStorage(context.Context) (err error) {
	e.Pools, err = storage.Open(storage.Config{
		Kernel: e.k, Log: e.log, Definitions: e.paths.Pools(), Active: e.paths.ActivePools(), Publish: e.publish, DocumentFits: notTooLong,
		Damaged: func(files []*store.Damaged) {
			e.problem.damaged(e.log, files, ": restore it from a backup, or define the storage pool again")
		},
		Problem: func(what string) { e.problem.add(e.log, what) },
	})
	return err
}

// load hands each definition of a kind to add, which returns who has its name or UUID already.
func load(e *Engine, kind string, from *store.Store[definition], add func(definition, []byte) (spec.UUID, bool)) error {
	items, damaged, err := from.Load()
	if err != nil {
		return err
	}
	e.problem.damaged(e.log, damaged, ": restore it from a backup, or define the "+kind+" again")
	for _, i := range items {
		if i.Key != i.Head.UUID.String() {
			e.problem.add(e.log, fmt.Sprintf("state file %s holds %s '%s' with the UUID %s, which is not what it is called; it is left alone", from.Path(i.Key), kind, i.Head.Name, i.Head.UUID))
			continue
		}
		if holder, ok := add(i.Head, i.Doc); !ok {
			e.problem.add(e.log, fmt.Sprintf("%s '%s' is defined twice, with the UUIDs %s and %s; the second is left alone", kind, i.Head.Name, holder, i.Head.UUID))
		}
	}
	return nil
}

// document returns the parsed definition of a domain, or what it was started from.
func (e *Engine) document(d *domain) (*spec.Domain, error) {
	v := d.view()
	switch {
	case v.run != nil:
		return v.run.doc(), nil
	case v.def == nil:
		return nil, transient(d)
	}
	doc, err := spec.ParseDomain(v.def.xml)
	if err != nil {
		return nil, fmt.Errorf("read the definition of domain '%s' back: %w", d.label, err)
	}
	return doc, nil
}
