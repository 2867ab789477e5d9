package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"taproom/internal/host"
	"taproom/internal/network/alloc"
	"taproom/internal/network/state"
	"taproom/internal/sandbox"
)

// namesGroup is the group of the links that are made.
const namesGroup = 0x7461

// MostLinks is how many links can be made at once: their descriptors are open.
const MostLinks = 8000

// NameCounts are how many links are made at once, where nothing else is said.
func NameCounts() []int { return []int{1, 8, 82, 1000, 4000} }

// runNames measures what links of guests cost: those that taproom makes, beside the floor, which is a loop of the same
// calls into the kernel that allots nothing and compares nothing, and beside two algorithms of the past that ask the
// kernel for each name: from zero, and from a counter.
func runNames(ctx context.Context, o Options) (r *Report, err error) {
	if err := sandbox.IP(ctx, "link", "add", manyLower, "up", "type", "bridge"); err != nil {
		return nil, err
	}
	r = newReport("names")
	r.Host.QEMU = "none" // no guest is started
	lower, err := linkIndex(manyLower)
	if err != nil {
		return nil, err
	}
	b := &bareLinks{lower: lower}
	if err := b.open(); err != nil {
		return nil, err
	}
	defer b.close()
	own := &ownLinks{}
	own.k = host.New(host.Options{Hook: func(string) { own.calls.Add(1) }})
	defer own.k.Close()
	b.k = own.k
	for _, kind := range NICKinds() {
		for _, n := range o.Counts {
			sides := []*nameSide{
				{prefix: "", make: func(kind string, n int) (*madeLinks, error) { return own.links(ctx, kind, n) }},
				{prefix: "floor.", make: b.links(b.next, true)},
				{prefix: "history.probe.", make: b.links(b.probed, false)},
				{prefix: "history.counter.", make: b.links(b.counted, false)},
			}
			var contenders []Contender
			for _, s := range sides {
				contenders = append(contenders, Contender{Name: s.prefix + figure(kind, n, "made"), Unit: "ms", Run: func(context.Context) (float64, error) { return s.run(kind, n) }})
			}
			all, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
			if err != nil {
				return nil, err
			}
			for _, s := range sides {
				all = append(all, s.derived(kind, n)...)
			}
			r.add(all, skipped...)
		}
		if note := r.growth(kind, o.Counts); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	return r, nil
}

func figure(kind string, n int, what string) string { return fmt.Sprintf("%s.%d.%s", kind, n, what) }

// madeLinks are links that were made, and what that took.
type madeLinks struct {
	open   time.Duration // of all, to open what a guest gets
	calls  int64         // into the kernel
	remove func() error
}

// nameSide is one way to make links.
type nameSide struct {
	prefix string
	make   func(kind string, n int) (*madeLinks, error)
	series map[string][]float64
}

// run makes links, which is measured, and removes them, which is measured too.
func (s *nameSide) run(kind string, n int) (float64, error) {
	began := time.Now()
	m, err := s.make(kind, n)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	again := time.Now()
	if err := m.remove(); err != nil {
		return 0, err
	}
	if s.series == nil {
		s.series = map[string][]float64{}
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	for what, v := range map[string]float64{
		"create": each(took - m.open), "open": each(m.open), "delete": each(time.Since(again)), "calls": float64(m.calls) / float64(n),
	} {
		s.series[what] = append(s.series[what], v)
	}
	return milliseconds(took), nil
}

// derived is what a NIC costs in the rounds that count. The tap of a guest is open when it is made.
func (s *nameSide) derived(kind string, n int) []Series {
	var out []Series
	for _, what := range []string{"create", "open", "delete", "calls"} {
		unit := "µs each"
		if what == "calls" {
			unit = "each"
		}
		if what == "open" && kind == "tap" {
			continue
		}
		out = append(out, Series{Name: s.prefix + figure(kind, n, what), Unit: unit, Samples: s.series[what][1:]})
	}
	return out
}

// ownLinks makes links as the daemon does.
type ownLinks struct {
	k     *host.Kernel
	calls atomic.Int64
}

func (o *ownLinks) links(ctx context.Context, kind string, n int) (*madeLinks, error) {
	registry := alloc.NewLinks()
	names, err := registry.Of(map[string]string{"tap": "vnet%d", "macvtap": "macvtap%d"}[kind])
	if err != nil {
		return nil, err
	}
	want := state.State{Ports: map[string]state.Port{}, Macvlans: map[string]state.Macvlan{}}
	for i := range n {
		name, err := names.Take()
		if err != nil {
			return nil, err
		}
		if kind == "tap" {
			want.Ports[name] = state.Port{Owner: "bench", MAC: benchMAC("fe", i), NoIPv6: true, Up: true}
		} else {
			want.Macvlans[name] = state.Macvlan{Owner: "bench", Lower: manyLower, Tap: true, Mode: host.MacvlanBridge, MAC: benchMAC("52", i), NoIPv6: true, AllMulticast: true, Up: true}
		}
	}
	m := &madeLinks{}
	before := o.calls.Load()
	env := &state.Env{Kernel: o.k, Group: namesGroup, Timed: func(s state.Step, began, ended time.Time) {
		if _, ok := s.(state.OpenMacvtap); ok {
			m.open += ended.Sub(began)
		}
	}}
	m.remove = func() error {
		ctx := context.WithoutCancel(ctx) // they go also when what they were for was ended
		seen, err := state.Observe(ctx, env, want.Scope())
		var p state.Plan
		if err == nil {
			p, err = state.Diff(env, seen, state.State{})
		}
		if err == nil {
			err = p.Apply(ctx, env)
		}
		var files []*os.File
		for name, t := range env.Taps { // those of taps, DeletePorts has closed
			files = append(files, t.Files...)
			delete(env.Taps, name)
		}
		return errors.Join(err, closeAll(files))
	}
	p, err := state.Diff(env, state.Observed{}, want)
	if err == nil {
		err = p.Apply(ctx, env)
	}
	m.calls = o.calls.Load() - before
	if err != nil {
		return nil, errors.Join(err, m.remove())
	}
	return m, nil
}

func benchMAC(first string, i int) string {
	return fmt.Sprintf("%s:54:00:%02x:%02x:%02x", first, i>>16, i>>8&0xff, i&0xff)
}

// closeAll closes descriptors side by side, as the daemon does: for the last one of a macvtap the kernel waits for a grace
// period.
func closeAll(files []*os.File) error {
	errs := make([]error, len(files))
	var wg sync.WaitGroup
	for i, f := range files {
		wg.Go(func() { errs[i] = f.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
