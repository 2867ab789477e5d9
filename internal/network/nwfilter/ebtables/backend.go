package ebtables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"taproom/internal/host"
	"taproom/internal/host/xtables"
	"taproom/internal/network/nwfilter"
)

// Backend keeps network filters by ebtables, iptables and ip6tables. Its methods may be called from several goroutines; they
// wait for each other.
type Backend struct {
	kernel   *host.Kernel
	programs *xtables.Conn

	mu      sync.Mutex
	applied map[string]applied // what this process applied, for the counters
}

// applied is a port with its rules.
type applied struct {
	program *nwfilter.Program
	rules   rules
}

var _ nwfilter.Backend = (*Backend)(nil)

// New returns a Backend that runs programs in the Kernel's network namespace. Whether the host has them is known when they are
// used.
func New(k *host.Kernel, programs *xtables.Conn) *Backend {
	return &Backend{kernel: k, programs: programs, applied: map[string]applied{}}
}

// Apply implements nwfilter.Backend. Each program's rules change at once, one program after the other: those of ebtables first.
func (b *Backend) Apply(ctx context.Context, changes []nwfilter.Port, gone []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	written := map[string]rules{}
	for _, p := range changes {
		r, err := render(p)
		if err != nil {
			return fmt.Errorf("filter %s of %s: %w", p.Program.Root, p.Name, err)
		}
		written[p.Name] = r
	}
	if err := b.bridgesAsk(changes); err != nil {
		return err
	}
	seen, err := b.look(ctx)
	if err != nil {
		return err
	}
	ports := map[string]string{}
	for port, m := range seen.marks() {
		if !slices.Contains(gone, port) {
			ports[port] = m.text
		}
	}
	for _, p := range changes {
		r := written[p.Name]
		ports[p.Name] = mark(p.Name, nwfilter.Attached{Key: p.Program.Key, Hash: p.Values.Hash()}, r.count())
	}
	if len(ports) == 0 && !seen.any() {
		return nil
	}
	for _, t := range []tool{frames, packets4, packets6} {
		if err := b.restore(ctx, t, write(t, seen, ports, written)); err != nil {
			return fmt.Errorf("change the network filters of %d ports: %w", len(changes)+len(gone), err)
		}
	}
	for _, port := range gone {
		delete(b.applied, port)
	}
	for _, p := range changes {
		b.applied[p.Name] = applied{p.Program, written[p.Name]}
	}
	return nil
}

// any reports whether there are chains of ours.
func (s *sight) any() bool {
	for t := range s {
		for _, chains := range s[t] {
			for name := range chains {
				if portOf(name) != "" || slices.Contains([]string{fromGuests, toGuests, marks, linkLocal, noHost}, name) {
					return true
				}
			}
		}
	}
	return false
}

// bridgesAsk returns an error when iptables is not asked about frames of bridges, and is to be.
func (b *Backend) bridgesAsk(changes []nwfilter.Port) error {
	var errs []error
	for _, six := range []bool{false, true} {
		needed := slices.ContainsFunc(changes, func(p nwfilter.Port) bool {
			return slices.ContainsFunc(p.Program.Packet, func(r nwfilter.Rule) bool { return r.Protocol.IPv6() == six })
		})
		if !needed {
			continue
		}
		name := family("bridge-nf-call-iptables", "bridge-nf-call-ip6tables", six)
		if is, err := b.kernel.Sysctl("net/bridge/" + name); err != nil || is != "1" {
			errs = append(errs, fmt.Errorf("a filter has rules about packets, and iptables is not asked about frames of bridges: load the module br_netfilter and set net.bridge.%s to 1 (it is %q)", name, is))
		}
	}
	return errors.Join(errs...)
}

func (b *Backend) restore(ctx context.Context, t tool, text string) error {
	if t == frames {
		return b.programs.RestoreFrames(ctx, text)
	}
	return b.programs.Restore(ctx, t == packets6, text)
}

// look reads what the three programs have.
func (b *Backend) look(ctx context.Context) (*sight, error) {
	var s sight
	for _, t := range []tool{frames, packets4, packets6} {
		var text string
		var err error
		if t == frames {
			text, err = b.programs.CountedFrames(ctx)
		} else {
			text, err = b.programs.Counted(ctx, t == packets6)
		}
		if err == nil {
			s[t], err = parse(text)
		}
		if err != nil {
			return nil, fmt.Errorf("look at the network filters of %s: %w", t, err)
		}
	}
	return &s, nil
}

// Observe implements nwfilter.Backend. A port some of whose rules were taken away is missing; a rule that somebody put in the
// place of another is not noticed.
func (b *Backend) Observe(ctx context.Context) (map[string]nwfilter.Attached, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	return seen.intact(), nil
}

// Counters implements nwfilter.Backend, for the ports that this process has applied: the rules themselves do not say what
// filter they are of. They count from when a port was attached or changed.
func (b *Backend) Counters(ctx context.Context) ([]nwfilter.Counter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	type place struct {
		key, chain string
		at         int
	}
	sums := map[place]*nwfilter.Counter{}
	order := map[place]int{}
	for _, port := range slices.Sorted(maps.Keys(b.applied)) {
		a := b.applied[port]
		for t := range a.rules {
			for _, c := range a.rules[t] {
				have := seen[t][tableOf(tool(t))][c.name]
				if len(have) != len(c.lines) {
					continue // somebody changed it
				}
				for i, l := range c.lines {
					at := place{a.program.Key, l.chain, l.at}
					if sums[at] == nil {
						order[at] = len(order)
						sums[at] = &nwfilter.Counter{Program: a.program.Key, Chain: l.chain, Rule: *l.rule}
					}
					sums[at].Packets += have[i].packets
					sums[at].Bytes += have[i].bytes
				}
			}
		}
	}
	places := slices.SortedFunc(maps.Keys(sums), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(order[a], order[b]))
	})
	out := make([]nwfilter.Counter, len(places))
	for i, p := range places {
		out[i] = *sums[p]
	}
	return out, nil
}
