package nftables

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/nwfilter"
)

// Backend has the Programs of one network namespace's ports in nf_tables. Its methods may be called from several goroutines.
type Backend struct {
	nft    nft.Backend
	kernel *host.Kernel
	table  string
	can    abilities

	mu   sync.Mutex
	last *sight // what was seen last, with what was changed since
}

var _ nwfilter.Backend = (*Backend)(nil)

// Open asks the kernel what it can do for bridges and returns a Backend whose tables have that name, in families bridge, inet
// and arp. It makes nothing. What an earlier Backend of that name left
// is taken over. The connection is the caller's, who closes it.
func Open(ctx context.Context, conn nft.Backend, k *host.Kernel, table string) (*Backend, error) {
	b := &Backend{nft: conn, kernel: k, table: table}
	var err error
	if b.can.conntrack, err = b.try(ctx, nil, nft.Established, nft.Accept()); err != nil {
		return nil, err
	}
	if b.can.reject, err = b.try(ctx, nil, nft.Reject{}); err != nil {
		return nil, err
	}
	b.can.limits, err = b.tryLimits(ctx)
	return b, err
}

// try reports whether the kernel accepts a rule of family bridge, in a table with these objects that goes in the same transaction.
func (b *Backend) try(ctx context.Context, with []nft.Object, x ...nft.Expr) (bool, error) {
	t := nft.Table{Family: nft.Bridge, Name: b.table + "-try"}
	tx := &nft.Transaction{}
	tx.Add(t)
	for _, o := range with {
		tx.Add(o)
	}
	tx.Add(nft.Chain{Family: t.Family, Table: t.Name, Name: "c", Type: "filter", Hook: "prerouting", Policy: "accept"})
	tx.Add(nft.Rule{Family: t.Family, Table: t.Name, Chain: "c", Exprs: x})
	tx.Delete(t)
	err := b.nft.Commit(ctx, tx)
	var refused *nft.Error
	switch _, ok := error(nil), errors.As(err, &refused); {
	case err == nil:
		return true, nil
	case ok && missing(refused):
		return false, nil
	}
	return false, b.failed("try what the kernel can filter on bridges", err)
}

// missing reports whether the kernel lacks an expression: it knows none of that name in the family, or no conntrack there.
func missing(e *nft.Error) bool {
	_, rule := e.Object.(nft.Rule)
	return rule && (errors.Is(e, unix.ENOENT) || errors.Is(e, unix.EOPNOTSUPP) || errors.Is(e, unix.EAFNOSUPPORT) ||
		errors.Is(e, unix.EPROTONOSUPPORT) || errors.Is(e, unix.EPROTO) || errors.Is(e, unix.EINVAL))
}

func (b *Backend) failed(what string, err error) error {
	return fmt.Errorf("%s (nft list table bridge %s): %w", what, b.table, err)
}

// Watch tells of changes that others make to the tables, and of each that could not be told; changed is called once at the
// beginning. It returns when ctx is done.
func (b *Backend) Watch(ctx context.Context, changed func(who string)) error {
	conn, ok := b.nft.(firewall.Watched)
	if !ok { // in memory there is nobody else
		changed("")
		<-ctx.Done()
		return nil
	}
	return firewall.WatchTables(ctx, conn, b.tables(), nil, changed)
}

// commit sends a plan: what nobody uses yet first, where ports that are filtered already are to be led there. A packet reads the
// generation of nf_tables once for the rules of all chains, and again for each look-up in a map (net/netfilter/nf_tables_core.c,
// nft_do_chain; nft_set_hash.c, nft_rhash_lookup; 6.18). So one that is under way when a transaction is committed can be led to a
// chain of the same transaction and find it empty. After one more transaction the chain has its rules in both generations.
func (b *Backend) commit(ctx context.Context, p *plan) error {
	p.join()
	if p.ahead.Len() > 0 {
		p.ahead.IfGeneration(p.s.generation)
		if err := b.nft.Commit(ctx, p.ahead); err != nil {
			return err
		}
		p.s.generation++
	}
	p.tx.IfGeneration(p.s.generation)
	return b.nft.Commit(ctx, p.tx)
}

// Plan returns the transactions of an Apply as input for nft, in order, and changes nothing.
func (b *Backend) Plan(ctx context.Context, changes []nwfilter.Port, gone []string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.look(ctx)
	if err != nil {
		return nil, b.failed("plan network filters", err)
	}
	p := newPlan(b, s)
	if err := p.make(changes, gone); err != nil {
		return nil, err
	}
	if err := errors.Join(p.tx.Err(), p.ahead.Err()); err != nil {
		return nil, b.failed("plan network filters", err)
	}
	p.join()
	var out []string
	for _, tx := range []*nft.Transaction{p.ahead, p.tx} {
		if tx.Len() > 0 {
			out = append(out, tx.String())
		}
	}
	return out, nil
}

// Apply implements nwfilter.Backend. It is one transaction, after one that makes the chains of new Programs, which no frame meets,
// where ports that are filtered already get one.
func (b *Backend) Apply(ctx context.Context, changes []nwfilter.Port, gone []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	for range attempts {
		var s *sight
		if s, err = b.look(ctx); err != nil {
			break
		}
		p := newPlan(b, s)
		if err = p.make(changes, gone); err != nil {
			return err
		}
		if err = errors.Join(p.tx.Err(), p.ahead.Err()); err != nil || p.tx.Len()+p.ahead.Len() == 0 {
			return err
		}
		if err = b.commit(ctx, p); err == nil {
			p.took()
			return nil
		}
		b.last = nil
		if !errors.Is(err, nft.ErrChanged) {
			break
		}
	}
	return b.failed(fmt.Sprintf("filter %d ports, no longer filter %d", len(changes), len(gone)), err)
}
