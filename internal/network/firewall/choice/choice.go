// Package choice says which back end keeps the firewall's rules, and removes what another one left.
//
// A back end is tried, not asked: the rules of a NAT network are put into a network namespace that is thrown away.
package choice

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"taproom/internal/host"
	"taproom/internal/host/nft"
	"taproom/internal/host/xtables"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/iptables"
)

// The words of the setting firewall_backend, which are libvirt's.
const (
	Auto     = "auto"
	NFTables = "nftables"
	IPTables = "iptables"
)

// Words are all of them.
func Words() []string { return []string{Auto, NFTables, IPTables} }

// Check refuses other words.
func Check(word string) error {
	if !slices.Contains(Words(), word) {
		return fmt.Errorf("%q is none of %s", word, strings.Join(Words(), ", "))
	}
	return nil
}

// Env is the host on which rules are kept.
type Env struct {
	Kernel *host.Kernel
	NFT    *nft.Conn          // nil where the kernel has no nf_tables
	Tables *firewall.Firewall // those of nf_tables, on NFT
	Table  string             // their name, which is that of chains as well
}

// Chosen is a back end.
type Chosen struct {
	firewall.Backend
	Name string // NFTables or IPTables
	Why  string // for people: "asked for", or what came of trying

	others []other
}

// other is what a back end that was not chosen may have left.
type other struct {
	name  string
	clear func(context.Context) (bool, error)
}

// Open chooses. The word has been checked.
func Open(ctx context.Context, e Env, word string) (*Chosen, error) {
	switch word {
	case NFTables:
		if e.Tables == nil {
			return nil, errors.New("firewall_backend = \"nftables\": the kernel has no nf_tables (CONFIG_NF_TABLES); set it to auto or iptables")
		}
		return e.nftables("firewall_backend asks for it"), nil
	case IPTables:
		c, err := e.iptables(ctx, "firewall_backend asks for it")
		if err != nil {
			return nil, fmt.Errorf("firewall_backend = \"iptables\": %w", err)
		}
		return c, nil
	}
	err := errors.New("the kernel has none (CONFIG_NF_TABLES)")
	if e.Tables != nil {
		e.Kernel.Step("firewall try nftables")
		if err = TryNFTables(ctx); err == nil {
			return e.nftables("it works, and is the first choice"), nil
		}
	}
	c, err2 := e.iptables(ctx, fmt.Sprintf("nftables does not work here: %v", err))
	if err2 == nil {
		return c, nil
	}
	if e.Tables == nil {
		return nil, fmt.Errorf("no firewall works on this host: nftables: %w; iptables: %w", err, err2)
	}
	// Networks without a firewall are possible; those with one say what the kernel lacks.
	return e.nftables(fmt.Sprintf("neither it (%v) nor iptables (%v) works", err, err2)), nil
}

func (e Env) nftables(why string) *Chosen {
	return &Chosen{Backend: e.Tables, Name: NFTables, Why: why, others: []other{e.xtables(xtables.NFT), e.xtables(xtables.Legacy)}}
}

// iptables is the host's own, whichever of the kernel's interfaces that writes; what was left in the other one goes.
func (e Env) iptables(ctx context.Context, why string) (*Chosen, error) {
	e.Kernel.Step("firewall try iptables")
	v, err := TryIPTables(ctx)
	if err != nil {
		return nil, err
	}
	programs := xtables.New(e.Kernel, xtables.HostChoice)
	b, err := iptables.New(programs, e.Table)
	if err != nil {
		return nil, err
	}
	if v == xtables.NFT && e.NFT != nil { // what it makes is in nf_tables, which tells of changes
		b = b.WatchedBy(func(ctx context.Context, changed func(string)) error {
			ours := func(c nft.Change) bool { return programs.Made(c.PID) }
			return firewall.WatchTables(ctx, e.NFT, tablesOfIPTables(), ours, changed)
		}, e.NFT.Generation)
	}
	c := &Chosen{Backend: b, Name: IPTables, Why: fmt.Sprintf("%s; the host's iptables is iptables-%s", why, v)}
	for _, o := range []xtables.Variant{xtables.NFT, xtables.Legacy} {
		if o != v {
			c.others = append(c.others, e.xtables(o))
		}
	}
	if e.Tables != nil {
		c.others = append(c.others, other{NFTables, e.Tables.Clear})
	}
	return c, nil
}

// xtables is what a variant of iptables may have left. Its programs run only where there is something to find.
func (e Env) xtables(v xtables.Variant) other {
	return other{"iptables-" + string(v), func(ctx context.Context) (bool, error) {
		if there, err := e.traces(ctx, v); err != nil || !there {
			return false, err
		}
		f, err := iptables.New(xtables.New(e.Kernel, v), e.Table)
		if err != nil {
			return false, err
		}
		found, err := f.Clear(ctx)
		if errors.Is(err, exec.ErrNotFound) {
			return false, nil // rules of others, or made by programs that have been removed since
		}
		return found, err
	}}
}

// tablesOfIPTables are those of nf_tables that iptables-nft keeps our rules in.
func tablesOfIPTables() []nft.Table {
	return []nft.Table{
		{Family: nft.IPv4, Name: "filter"},
		{Family: nft.IPv4, Name: "nat"},
		{Family: nft.IPv6, Name: "filter"},
		{Family: nft.IPv6, Name: "nat"},
	}
}

// traces reports whether the kernel has chains of ours of that variant, or may have.
func (e Env) traces(ctx context.Context, v xtables.Variant) (bool, error) {
	if v == xtables.Legacy {
		return xtables.LegacyInUse(e.Kernel)
	}
	if e.NFT == nil {
		return false, nil
	}
	for _, t := range tablesOfIPTables() {
		l, err := e.NFT.Layout(ctx, t.Family, t.Name)
		if errors.Is(err, nft.ErrNoTable) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look for rules of iptables: %w", err)
		}
		if slices.ContainsFunc(l.Chains, func(c nft.Chain) bool { return iptables.Own(e.Table, c.Name) }) {
			return true, nil
		}
	}
	return false, nil
}

// Found returns the back ends that there are rules of this daemon in, whichever is chosen.
func (e Env) Found(ctx context.Context) ([]string, error) {
	var found []string
	for _, family := range []nft.Family{nft.IPv4, nft.IPv6} {
		if e.NFT == nil || slices.Contains(found, NFTables) {
			break
		}
		switch _, err := e.NFT.Layout(ctx, family, e.Table); {
		case err == nil:
			found = append(found, NFTables)
		case !errors.Is(err, nft.ErrNoTable):
			return nil, err
		}
	}
	for _, v := range []xtables.Variant{xtables.NFT, xtables.Legacy} {
		there, err := e.traces(ctx, v)
		if err == nil && there && v == xtables.Legacy {
			there, err = e.inLegacy(ctx)
		}
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, "iptables-"+string(v))
		}
	}
	return found, nil
}

func (e Env) inLegacy(ctx context.Context) (bool, error) {
	f, err := iptables.New(xtables.New(e.Kernel, xtables.Legacy), e.Table)
	if err != nil {
		return false, err
	}
	any, err := f.Any(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return false, nil
	}
	return any, err
}

// ClearOthers removes what other back ends have left of ours, and returns which those are. Rules of two back ends agree with each other, so it comes
// after the chosen one has all that should be: at no time is there none.
func (c *Chosen) ClearOthers(ctx context.Context) ([]string, error) {
	var had []string
	var errs []error
	for _, o := range c.others {
		found, err := o.clear(ctx)
		if found {
			had = append(had, o.name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove what the firewall's back end %s left: %w", o.name, err))
		}
	}
	return had, errors.Join(errs...)
}
