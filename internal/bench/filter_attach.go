package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// filterKeeper is a port that keeps tables and chains there while the elements of others are measured.
const filterKeeper = "keeper"

// filterTimes are what the rounds of one size took besides what they are compared by.
type filterTimes struct{ compile, transactions, more []float64 }

// add notes a round of that many NICs.
func (t *filterTimes) add(n int, compile time.Duration, transactions uint32) {
	t.compile = append(t.compile, milliseconds(compile)/float64(n))
	t.transactions = append(t.transactions, float64(transactions)/float64(n))
}

// attaching measures how long a NIC takes to be filtered, when n get the filter one after the other on a host that filters nobody.
// The first one's time has the tables and the chains in it; more is that of the last alone.
func (b *filterBench) attaching(ctx context.Context, n int) ([]Series, error) {
	own, err := b.world(ctx)
	if err != nil {
		return nil, err
	}
	floor, err := b.floor(ctx)
	if err != nil {
		return nil, err
	}
	var times filterTimes
	name := fmt.Sprintf("attach.%d", n)
	all, _, err := Turns(ctx, b.rounds(n), []Contender{
		{Name: "floor." + name, Unit: "ms", Run: func(ctx context.Context) (float64, error) { return floor.attach(ctx, n) }},
		{Name: name, Unit: "ms", Run: func(ctx context.Context) (float64, error) { return b.attach(ctx, own, n, &times) }},
	}, b.o.Progress)
	if err != nil {
		return nil, err
	}
	return append(all,
		Series{Name: name + ".more", Unit: "ms", Samples: times.more[1:]},
		Series{Name: name + ".compile", Unit: "ms", Samples: times.compile[1:]},
		Series{Name: name + ".transactions", Unit: "each", Samples: times.transactions[1:]}), nil
}

// attach has n NICs attached, which is measured, and detaches them. The result is of one NIC.
func (b *filterBench) attach(ctx context.Context, w *filterWorld, n int, times *filterTimes) (float64, error) {
	before, err := w.conn.Generation(ctx)
	if err != nil {
		return 0, err
	}
	compiler := nwfilter.NewCompiler(b.shipped)
	names := make([]string, n)
	var compiled, last time.Duration
	began := time.Now()
	for i := range n {
		started := time.Now()
		p, err := filteredPort(compiler, i)
		if err != nil {
			return 0, err
		}
		compiled += time.Since(started)
		if err := w.backend.Apply(ctx, []nwfilter.Port{p}, nil); err != nil {
			return 0, err
		}
		names[i], last = p.Name, time.Since(started)
	}
	took := time.Since(began)
	after, err := w.conn.Generation(ctx)
	if err != nil {
		return 0, err
	}
	times.add(n, compiled, after-before)
	times.more = append(times.more, milliseconds(last))
	return milliseconds(took) / float64(n), w.backend.Apply(ctx, nil, names)
}

// redefining measures how long it takes until all n NICs that have the filter have it as it was redefined. The samples are of all
// NICs together.
func (b *filterBench) redefining(ctx context.Context, n int) ([]Series, error) {
	own, err := b.world(ctx)
	if err != nil {
		return nil, err
	}
	floor, err := b.floor(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := filteredPorts(b.shipped, n)
	if err != nil {
		return nil, err
	}
	if err := own.backend.Apply(ctx, ports, nil); err != nil {
		return nil, err
	}
	var times filterTimes
	set, next := b.changed, b.shipped
	name := fmt.Sprintf("redefine.%d", n)
	all, _, err := Turns(ctx, b.o.Rounds, []Contender{
		{Name: "floor." + name, Unit: "ms", Run: func(ctx context.Context) (float64, error) { return floor.redefine(ctx, n) }},
		{Name: name, Unit: "ms", Run: func(ctx context.Context) (float64, error) {
			took, err := b.redefine(ctx, own, set, n, &times)
			set, next = next, set
			return took, err
		}},
	}, b.o.Progress)
	if err != nil {
		return nil, err
	}
	return append(all,
		Series{Name: name + ".compile", Unit: "ms", Samples: times.compile[1:]},
		Series{Name: name + ".transactions", Unit: "each", Samples: times.transactions[1:]}), nil
}

// redefine gives n NICs the filter as it is in the set.
func (b *filterBench) redefine(ctx context.Context, w *filterWorld, set nwfilter.Set, n int, times *filterTimes) (float64, error) {
	before, err := w.conn.Generation(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	ports, err := filteredPorts(set, n)
	if err != nil {
		return 0, err
	}
	compiled := time.Since(began)
	if err := w.backend.Apply(ctx, ports, nil); err != nil {
		return 0, err
	}
	took := time.Since(began)
	after, err := w.conn.Generation(ctx)
	if err != nil {
		return 0, err
	}
	times.add(1, compiled, after-before)
	return milliseconds(took), nil
}

// filterFloor is what the kernel itself takes for the elements of ports: those of a port that the back end attached, under other
// names, in the same sets.
type filterFloor struct {
	*filterWorld
	elements []nft.Elements // of the keeper
}

// floor makes one.
func (b *filterBench) floor(ctx context.Context) (*filterFloor, error) {
	w, err := b.world(ctx)
	if err != nil {
		return nil, err
	}
	p, err := filteredPort(nwfilter.NewCompiler(b.shipped), 0)
	if err != nil {
		return nil, err
	}
	p.Name = filterKeeper
	if err := w.backend.Apply(ctx, []nwfilter.Port{p}, nil); err != nil {
		return nil, err
	}
	f := &filterFloor{filterWorld: w}
	for _, family := range []nft.Family{nft.Bridge, nft.INet, nft.ARP} {
		l, err := w.conn.Dump(ctx, family, filterTable)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(l.Elements)) {
			if set, ok := l.Set(name); ok && len(l.Elements[name]) > 0 {
				f.elements = append(f.elements, nft.Elements{Set: set, Keys: l.Elements[name]})
			}
		}
	}
	return f, nil
}

// change puts the elements of the first n ports into a transaction: all, or those alone that lead to chains.
func (f *filterFloor) change(do func(nft.Object), from, to int, leading bool) {
	for _, e := range f.elements {
		var keys []string
		for i := from; i < to; i++ {
			for _, k := range e.Keys {
				if !leading || strings.Contains(k, " : ") {
					keys = append(keys, strings.Replace(k, filterKeeper, filteredName(i), 1))
				}
			}
		}
		if len(keys) > 0 {
			do(nft.Elements{Set: e.Set, Keys: keys})
		}
	}
}

// attach adds the elements of n ports, a transaction each, which is measured, and takes them away. The result is of one.
func (f *filterFloor) attach(ctx context.Context, n int) (float64, error) {
	var took time.Duration
	for i := range n {
		tx := &nft.Transaction{}
		f.change(tx.Create, i, i+1, false)
		began := time.Now()
		if err := f.conn.Commit(ctx, tx); err != nil {
			return 0, err
		}
		took += time.Since(began)
	}
	gone := &nft.Transaction{}
	f.change(gone.Delete, 0, n, false)
	return milliseconds(took) / float64(n), f.conn.Commit(ctx, gone)
}

// redefine replaces the elements that lead n ports to their chains, in one transaction, which is measured.
func (f *filterFloor) redefine(ctx context.Context, n int) (float64, error) {
	there, tx, gone := &nft.Transaction{}, &nft.Transaction{}, &nft.Transaction{}
	f.change(there.Create, 0, n, false)
	if err := f.conn.Commit(ctx, there); err != nil {
		return 0, err
	}
	f.change(tx.Delete, 0, n, true)
	f.change(tx.Create, 0, n, true)
	began := time.Now()
	if err := f.conn.Commit(ctx, tx); err != nil {
		return 0, err
	}
	took := time.Since(began)
	f.change(gone.Delete, 0, n, false)
	return milliseconds(took), f.conn.Commit(ctx, gone)
}
