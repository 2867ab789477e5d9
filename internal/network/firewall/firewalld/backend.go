package firewalld

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/sysbus"
	"taproom/internal/network/firewall"
)

// Set is the set of the zones that documents ask for; its keys are "virbr0 . work".
const Set = "zones"

// How long firewalld may take: for a question, and for changes, which may wait behind a reload. It works off one call after the
// other, each for tenths of a second, and a reload for seconds, of a processor that others may want too.
const (
	askWithin    = 10 * time.Second
	changeWithin = 60 * time.Second
)

// Config says where firewalld is.
type Config struct {
	Kernel *host.Kernel
	Socket string // of the system bus; "" is sysbus.DefaultSocket
	Group  uint32 // of our links
	Record Record // of what is in the permanent configuration because of us; nil: that is left alone
	// Within is how long firewalld may take for questions and for changes; 0 is what it usually may.
	Within time.Duration
}

// Backend is a firewall with firewalld beside it. Close it. Its methods may be called from several goroutines.
type Backend struct {
	below       firewall.Backend
	cfg         Config
	bus         *bus
	ask, change time.Duration // how long it may take

	mu       sync.Mutex
	wants    map[string]string         // which zone a bridge should be in, as far as it was asked for or seen
	changes  int                       // how often wants was changed by who asked
	missing  map[firewall.Element]bool // what the last Observe left out
	running  bool                      // firewalld was there when it was asked last
	trouble  error                     // why it could not be asked then
	ahead    map[string]string         // bridges that an Ahead is binding, and where to
	seen     seen
	fleeting error // why the permanent configuration is not as it should be

	stirred chan struct{} // holds a token while the permanent configuration is to be looked at
}

var _ firewall.Backend = (*Backend)(nil)

// New returns a Backend whose rules are the ones below.
func New(below firewall.Backend, cfg Config) *Backend {
	return &Backend{
		below: below, cfg: cfg, ask: cmp.Or(cfg.Within, askWithin), change: cmp.Or(cfg.Within, changeWithin), wants: map[string]string{}, ahead: map[string]string{}, stirred: make(chan struct{}, 1),
		bus: newBus(cfg.Kernel, cmp.Or(cfg.Socket, sysbus.DefaultSocket), cmp.Or(cfg.Within, askWithin)),
	}
}

// Close gives the connection to the bus back.
func (b *Backend) Close() error { return b.bus.close() }

// Traffic asks the Backend below: firewalld counts nothing.
func (b *Backend) Traffic(ctx context.Context) (map[string]firewall.Traffic, error) {
	return firewall.TrafficOf(ctx, b.below)
}

// Probe asks the Backend below.
func (b *Backend) Probe(ctx context.Context) (gone bool, err error) {
	return firewall.ProbeOf(ctx, b.below)
}

// Unprobe asks the Backend below.
func (b *Backend) Unprobe(ctx context.Context) error { return firewall.UnprobeOf(ctx, b.below) }

// Running reports whether firewalld rules over our network namespace; an error says that it does not answer.
func (b *Backend) Running(ctx context.Context) (bool, error) {
	err := b.bus.talk(ctx, b.ask, func(ctx context.Context, s *session) error {
		_, err := s.bindings(ctx)
		return err
	})
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil, err
}

// Runs reports whether firewalld ran when its zones were looked at last.
func (b *Backend) Runs() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// Trouble is why firewalld could not be asked which zones bridges are in when that was looked at last; nil when it answered, or
// none runs. Until it can be asked, what is in force is taken to be what is below.
func (b *Backend) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble
}

// Observe returns what is in force below, without the bridges that are not in their zone; and the zones beside Zone that
// bridges of ours are in. Which bridges there are beside those that are named matters only while there are zones.
func (b *Backend) Observe(ctx context.Context, only ...firewall.Element) ([]firewall.Element, error) {
	b.mu.Lock()
	began, some := b.changes, only
	if b.running {
		some = nil
	}
	b.mu.Unlock()
	below, err := b.below.Observe(ctx, some...)
	if err != nil {
		return nil, err
	}
	bound, err := b.look(ctx)
	if err == nil && bound != nil && len(some) > 0 { // firewalld has just come
		below, err = b.below.Observe(ctx)
	}
	if err != nil {
		return nil, err
	}
	bridges := bridgesOf(below)
	adopted, stale := b.strays(bound, bridges)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changes == began { // else what is known now is newer than what was seen
		maps.Copy(b.wants, adopted)
		for link := range bridges {
			b.wants[link] = b.want(link)
		}
	}
	b.missing = map[firewall.Element]bool{}
	force := func(e firewall.Element, link string) bool {
		if want, known := b.wants[link]; bound != nil && known && bound[link] != want && b.ahead[link] != want {
			b.missing[e] = true
		}
		return !b.missing[e]
	}
	out := slices.DeleteFunc(slices.Clone(below), func(e firewall.Element) bool {
		link, ok := bridge(e)
		return ok && !force(e, link)
	})
	for link, zone := range b.wants {
		if e := Asked(link, zone); zone != Zone && force(e, link) {
			out = append(out, e)
		}
	}
	for _, link := range stale {
		out = append(out, Asked(link, Zone))
	}
	out = firewall.Of(out, only)
	slices.SortFunc(out, compare)
	return out, nil
}

func compare(a, b firewall.Element) int {
	return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Key, b.Key))
}

// want is the zone that a bridge should be in.
func (b *Backend) want(link string) string { return cmp.Or(b.wants[link], Zone) }

// strays are bridges that have our group and that nobody asked us for, as a daemon before us left them: in a zone beside ours,
// which somebody may want, or in ours although the rules below do not know them.
func (b *Backend) strays(bound map[string]string, bridges map[string]bool) (adopted map[string]string, stale []string) {
	adopted = map[string]string{}
	for link, zone := range bound {
		b.mu.Lock()
		_, known := b.wants[link]
		known = known || b.ahead[link] != ""
		b.mu.Unlock()
		if known || zone == Zone && bridges[link] {
			continue
		}
		l, err := b.cfg.Kernel.LinkByName(link)
		switch {
		case err != nil || l.Kind != "bridge" || l.Group != b.cfg.Group:
		case zone == Zone:
			stale = append(stale, link)
		default:
			adopted[link] = zone
		}
	}
	return adopted, stale
}

// bridge is the bridge that an element makes one of ours.
func bridge(e firewall.Element) (string, bool) {
	return e.Key, e.Set == "bridges" || e.Set == "ip6/bridges"
}

func bridgesOf(elements []firewall.Element) map[string]bool {
	out := map[string]bool{}
	for _, e := range elements {
		if link, ok := bridge(e); ok {
			out[link] = true
		}
	}
	return out
}

const between = " . "

// Asked is the element that says that a bridge should be in a zone beside Zone.
func Asked(link, zone string) firewall.Element {
	return firewall.Element{Set: Set, Key: link + between + zone}
}

// split parts elements into those of the rules below and the zones that are asked for, by link.
func split(elements []firewall.Element) (below []firewall.Element, zones map[string]string) {
	zones = map[string]string{}
	for _, e := range elements {
		if link, zone, ok := strings.Cut(e.Key, between); ok && e.Set == Set {
			zones[link] = zone
			continue
		}
		below = append(below, e)
	}
	return below, zones
}
