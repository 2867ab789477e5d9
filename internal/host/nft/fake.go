package nft

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"golang.org/x/sys/unix"
)

// Fake is a Backend in memory. It validates references as the kernel does and gives the kernel's errno. It passes the
// same suite as Conn (nfttest). The zero value is empty and ready.
type Fake struct {
	// FailAt makes the commit of this number (the first is 1) take effect and then report ErrAnswerLost, as the kernel
	// does when it cannot queue its answer. Set it before use.
	FailAt int

	mu      sync.Mutex
	tables  map[tableID]*Listing
	gen     uint32
	touched map[tableID]uint32 // the generation that each was changed in last
	handle  uint64
	commits int
}

type tableID struct {
	family Family
	name   string
}

var _ Backend = (*Fake)(nil)

// Load puts a table, as `nft list table` prints it, in place of what was there under its name.
func (f *Fake) Load(text string) error {
	l, err := Load(text)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tables == nil {
		f.tables = map[tableID]*Listing{}
	}
	f.tables[tableID{l.Table.Family, l.Table.Name}] = l
	f.handle = max(f.handle, 1<<20) // beyond the handles that Load gave
	f.gen++
	f.touch(tableID{l.Table.Family, l.Table.Name})
	return nil
}

func (f *Fake) touch(id tableID) {
	if f.touched == nil {
		f.touched = map[tableID]uint32{}
	}
	f.touched[id] = f.gen
}

// String is all tables as `nft list ruleset` prints them, ordered by name.
func (f *Fake) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]tableID, 0, len(f.tables))
	for id := range f.tables {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		return ids[i].name < ids[j].name || ids[i].name == ids[j].name && ids[i].family < ids[j].family
	})
	s := ""
	for _, id := range ids {
		l := f.tables[id].clone()
		l.dropDynamic()
		l.sortElements()
		s += l.String()
	}
	return s
}

// Commits is how many transactions were sent, also those that failed.
func (f *Fake) Commits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commits
}

// Commit applies the transaction to a copy and swaps when all of it went well.
func (f *Fake) Commit(ctx context.Context, t *Transaction) error {
	if t.err != nil {
		return t.err
	}
	if err := ctx.Err(); err != nil || len(t.ops) == 0 {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	if t.hasGen && t.gen != f.gen {
		return ErrChanged
	}
	next := &fakeState{tables: make(map[tableID]*Listing, len(f.tables)), handle: f.handle}
	for id, l := range f.tables {
		next.tables[id] = l.clone()
	}
	for _, o := range t.ops {
		if errno := next.apply(o); errno != 0 {
			return &Error{Command: shorten(o.command()), Object: o.object, Err: errno}
		}
	}
	f.tables, f.handle = next.tables, next.handle
	f.gen++
	for _, o := range t.ops {
		f.touch(tableOf(o.object))
	}
	if f.commits == f.FailAt {
		return fmt.Errorf("nft: commit %d changes: %w: %w", t.Len(), ErrAnswerLost, unix.ENOBUFS)
	}
	return nil
}

// Dump reads a table.
func (f *Fake) Dump(ctx context.Context, family Family, table string) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, ok := f.tables[tableID{family, table}]
	if !ok {
		return nil, fmt.Errorf("nft list table %s %s: %w", family, table, ErrNoTable)
	}
	l := now.clone()
	l.Generation = f.gen
	l.dropDynamic()
	l.sortElements()
	return l, nil
}

// Layout reads a table without elements.
func (f *Fake) Layout(ctx context.Context, family Family, table string) (*Listing, error) {
	l, err := f.Dump(ctx, family, table)
	if err != nil {
		return nil, err
	}
	l.Elements = nil
	return l, nil
}

// Generation counts the transactions that changed anything.
func (f *Fake) Generation(ctx context.Context) (uint32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gen, ctx.Err()
}
