package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

const (
	// MostActive is as many networks as can be active: bridges of that many are removed in a minute or so.
	MostActive = 2000
	// fullRounds is up to how many networks as many rounds are made as were asked for; with more there are fewer.
	fullRounds = 20
	// mostOfPeer is up to how many networks libvirtd is measured: it takes a minute for a hundred.
	mostOfPeer = 100
)

// NetworkCounts are how many networks are started, where nothing else is said.
func NetworkCounts() []int { return []int{1, 20, 100, 1000} }

// Where the rules of networks are kept, as figures are named.
const (
	inNFT            = "nft"
	inIPTablesNFT    = "iptables-nft"
	inIPTablesLegacy = "iptables-legacy"
	besideNFT        = "firewalld-nftables" // with that back end of firewalld's
	besideIPTables   = "firewalld-iptables"
)

// NetworkBackends are all of them.
func NetworkBackends() []string {
	return []string{inNFT, inIPTablesNFT, inIPTablesLegacy, besideNFT, besideIPTables}
}

// networkBench is what the benchmark runs.
type networkBench struct {
	o   Options
	dir string
	// inMemory says that the folder is.
	inMemory bool
	k        *host.Kernel
	sides    []*netSide
	floor    *bareNetworks
	asker    *netAsker
	skipped  []Skip
}

// runNetworks measures NAT networks of both families, of which DHCP and DNS are asked: how long they take to start and to go,
// one after the other, by one client; what is executed and changed meanwhile; and how soon a daemon that starts beside them
// answers. For each place that rules can be kept in, beside the bare kernel, bare calls of firewalld, and libvirtd.
func runNetworks(ctx context.Context, o Options) (r *Report, err error) {
	if o.Stream {
		return runStream(ctx, o)
	}
	b := &networkBench{o: o, k: host.New(host.Options{})}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	r = newReport("networks")
	r.Host.QEMU = "none" // no guest is started
	for _, n := range o.Active {
		all, skipped, err := Turns(ctx, roundsOf(o.Rounds, n), b.contenders(n), o.Progress)
		if err != nil {
			return nil, err
		}
		if err := b.drop(ctx, skipped); err != nil {
			return nil, err
		}
		for _, s := range b.sides {
			all = append(all, s.derived(n)...)
		}
		r.add(append(all, b.floor.derived(n)...), skipped...)
	}
	r.add(nil, b.skipped...)
	r.Notes = b.notes(r)
	return r, nil
}

// roundsOf is how often so many networks are started: fewer times when they are many.
func roundsOf(rounds, n int) int {
	if n <= fullRounds {
		return rounds
	}
	return max(1, rounds*fullRounds/n)
}

// open makes what all sides need.
func (b *networkBench) open(ctx context.Context) (err error) {
	if err := b.folder(); err != nil {
		return err
	}
	if b.asker, err = newNetAsker(ctx); err != nil {
		return err
	}
	if b.floor, err = newBareNetworks(); err != nil {
		return err
	}
	for _, backend := range b.o.Backends {
		if why := b.lacks(backend); why != nil {
			b.skipped = append(b.skipped, Skip{Name: backend, Why: why.Error()})
			continue
		}
		for _, build := range b.o.builds() {
			s, err := b.own(backend, build)
			if err != nil {
				return err
			}
			b.sides = append(b.sides, s)
		}
	}
	peer, skip := startLibvirt(ctx, b.o.Peers)
	b.skipped = append(b.skipped, skip...)
	if peer == nil {
		return nil
	}
	s := newNetSide("peer.libvirt.", b)
	s.peer, s.daemon, s.end = peer, peer, func(context.Context) error { return peer.close() }
	b.sides = append(b.sides, s)
	return peer.stop() // until it is its turn
}

// folder makes the one that daemons are below. It is in memory, as all of libvirtd's is: neither waits for a disk.
func (b *networkBench) folder() (err error) {
	if b.dir, err = os.MkdirTemp("", "taproom-"); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", b.dir, "tmpfs", 0, "mode=0755"); err != nil { // the helper's user walks through it
		return fmt.Errorf("keep the daemons' files in memory: %w", err)
	}
	b.inMemory = true
	return nil
}

// contenders are all sides with so many networks. Whoever cannot have them is left out with the reason.
func (b *networkBench) contenders(n int) []Contender {
	all := []Contender{{Name: fmt.Sprintf("floor.%d.start", n), Unit: "ms", Run: func(ctx context.Context) (float64, error) { return b.floor.run(ctx, n) }}}
	for _, s := range b.sides {
		if s.peer != nil && n > mostOfPeer {
			b.skipped = append(b.skipped, Skip{Name: fmt.Sprintf("%s%d", s.prefix, n), Why: fmt.Sprintf("libvirtd is measured with up to %d networks: its time for each of them grows", mostOfPeer)})
			continue
		}
		all = append(all, Contender{Name: s.figure(n, "start"), Unit: "ms", Optional: s.peer != nil, Run: func(ctx context.Context) (float64, error) {
			return s.run(ctx, n)
		}})
	}
	return all
}

// drop ends peers that could not do it.
func (b *networkBench) drop(ctx context.Context, skipped []Skip) error {
	var errs []error
	b.sides = slices.DeleteFunc(b.sides, func(s *netSide) bool {
		gone := s.peer != nil && slices.ContainsFunc(skipped, func(k Skip) bool { return strings.HasPrefix(k.Name, s.prefix) })
		if gone {
			errs = append(errs, s.close(ctx))
		}
		return gone
	})
	return errors.Join(errs...)
}

// notes put figures beside those that they are to be compared with.
func (b *networkBench) notes(r *Report) (notes []string) {
	ratio := func(what string, figures ...string) string {
		var v []float64
		for _, name := range figures {
			f, ok := r.Figure(name)
			if !ok || f.Median == 0 {
				return ""
			}
			v = append(v, f.Median)
		}
		return fmt.Sprintf(", %.2f × %s", v[0]/sum(v[1:]), what)
	}
	few, most := slices.Min(b.o.Active), slices.Max(b.o.Active)
	for _, s := range b.sides {
		for _, n := range b.o.Active {
			note := ""
			for _, what := range []string{"start", "remove"} {
				kernel, own := fmt.Sprintf("floor.%d.%s", n, what), s.figure(n, what)
				said := ratio("libvirtd's", own, fmt.Sprintf("peer.libvirt.%d.%s", n, what)) +
					ratio("the kernel's own and bare calls of firewalld", own, kernel, besideFloor+own)
				if what == "remove" {
					said += ratio("the kernel's own", own, kernel)
				}
				if said != "" && s.peer == nil {
					note += "; " + what + strings.TrimPrefix(said, ",")
				}
			}
			if n == most && few < most {
				note += strings.Replace(ratio(fmt.Sprintf("one of %d", few), s.figure(most, "more"), s.figure(few, "more")), ",", "; one more", 1)
			}
			if note != "" {
				notes = append(notes, s.prefix+strconv.Itoa(n)+":"+note[1:])
			}
		}
	}
	return notes
}

// close ends everybody.
func (b *networkBench) close(ctx context.Context) error {
	var errs []error
	for _, s := range b.sides {
		errs = append(errs, s.close(ctx))
	}
	if b.asker != nil {
		errs = append(errs, b.asker.close(ctx))
	}
	if b.floor != nil {
		errs = append(errs, b.floor.close())
	}
	b.k.Close()
	if b.inMemory {
		errs = append(errs, unix.Unmount(b.dir, unix.MNT_DETACH))
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the benchmark: %w", err)
	}
	return nil
}
