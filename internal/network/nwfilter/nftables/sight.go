package nftables

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"taproom/internal/host/nft"
	"taproom/internal/network/nwfilter"
)

// sight is what the tables hold in one state of nf_tables. The kernel counts its changes, so while that number is the same, or
// all changes since were to other tables, reading again would show the same.
type sight struct {
	generation uint32
	listings   [tables]*nft.Listing // as they were read; nil: it is not there
	intact     bool                 // all tables are as they would be made
	marking    bool                 // the state of connections is noted
	programs   map[string]*attachedProgram
	ports      map[string]*attachedPort
	sets       map[string]nft.Set // those of slots, by name
}

// attachedProgram is a set of chains that begin with one id.
type attachedProgram struct {
	key    string
	intact bool // all its chains are as they were made
	states bool // a rule asks for noted states
	chains []nft.Chain
	limits []nft.Set
	users  int
}

// attachedPort is what the table has of a port's name.
type attachedPort struct {
	out, in string // the verdicts that the maps lead to
	listed  [tables]bool
	tracked bool
	values  map[string][]string // by set, each sorted
}

// id is that of the Program whose chains both maps lead to.
func (p *attachedPort) id() string {
	id, _ := strings.CutSuffix(p.out, "-out")
	id, ok := strings.CutPrefix(id, "goto ")
	if !ok || p.out != "goto "+root(id, nwfilter.Out) || p.in != "goto "+root(id, nwfilter.In) {
		return ""
	}
	return id
}

// whole reports whether all of a port is there, and names its Program.
func (s *sight) whole(p *attachedPort) (*attachedProgram, bool) {
	program := s.programs[p.id()]
	return program, s.intact && program != nil && program.intact && p.listed == everywhere() && p.tracked == program.states
}

func everywhere() [tables]bool { return [tables]bool{true, true, true} }

// attempts bounds how often something is looked at or changed again because somebody else changed nf_tables meanwhile.
const attempts = 16

// look returns what the tables hold, and reads them only if somebody may have changed them. The caller holds the lock.
func (b *Backend) look(ctx context.Context) (*sight, error) {
	now, err := b.nft.Generation(ctx)
	if err != nil {
		return nil, err
	}
	for range attempts {
		if s := b.last; s != nil && (s.generation == now || b.nft.Untouched(s.generation, now, b.tables()...)) {
			s.generation = now
			return s, nil
		}
		if b.last, err = b.read(ctx, now); err != nil {
			return nil, err
		}
		if now, err = b.nft.Generation(ctx); err != nil {
			return nil, err
		}
	}
	b.last = nil
	return nil, nft.ErrChanged
}

// tables are the tables by their names.
func (b *Backend) tables() (out []nft.Table) {
	for i := range tables {
		out = append(out, nft.Table{Family: familyOf(i), Name: b.table})
	}
	return out
}

func (b *Backend) read(ctx context.Context, generation uint32) (*sight, error) {
	s := &sight{
		generation: generation, intact: true,
		programs: map[string]*attachedProgram{}, ports: map[string]*attachedPort{}, sets: map[string]nft.Set{},
	}
	there := 0
	for i := range s.listings {
		var err error
		if s.listings[i], err = b.dump(ctx, familyOf(i)); err != nil {
			return nil, err
		}
		if s.listings[i] != nil {
			there++
			s.readListed(i)
		}
	}
	if l := s.listings[inBridge]; l != nil {
		s.readPorts(l)
		s.readPrograms(l, b.can)
		s.readLimits(l)
		_, s.marking = l.Chain("asking")
	}
	for i, l := range s.listings {
		s.intact = s.intact && (there == 0 || l != nil && layout(i, b.table, s.marking).fits(l))
	}
	return s, nil
}

// there reports whether any table is.
func (s *sight) there() bool { return s.listings != [tables]*nft.Listing{} }

func (b *Backend) dump(ctx context.Context, f nft.Family) (*nft.Listing, error) {
	l, err := b.nft.Dump(ctx, f, b.table)
	if errors.Is(err, nft.ErrNoTable) {
		return nil, nil
	}
	return l, err
}

func (s *sight) port(name string) *attachedPort {
	p := s.ports[name]
	if p == nil {
		p = &attachedPort{values: map[string][]string{}}
		s.ports[name] = p
	}
	return p
}

// readListed notes which ports a table lists.
func (s *sight) readListed(table int) {
	for _, name := range s.listings[table].Elements[setPorts] {
		s.port(name).listed[table] = true
	}
}

// readPorts sorts the elements by the port that they are of.
func (s *sight) readPorts(l *nft.Listing) {
	for _, set := range l.Sets {
		for _, e := range l.Elements[set.Name] {
			switch key, verdict, _ := strings.Cut(e, " : "); set.Name {
			case mapOut:
				s.port(key).out = verdict
			case mapIn:
				s.port(key).in = verdict
			case setPorts: // read already
			case setTracked:
				s.port(e).tracked = true
			default:
				if name, v, ok := strings.Cut(e, " . "); ok && strings.HasPrefix(set.Name, valueSet) {
					p := s.port(name)
					p.values[set.Name] = append(p.values[set.Name], v)
				}
			}
		}
		if strings.HasPrefix(set.Name, valueSet) {
			s.sets[set.Name] = set
		}
	}
	for _, p := range s.ports {
		for _, v := range p.values {
			slices.Sort(v)
		}
	}
}

func (s *sight) readPrograms(l *nft.Listing, can abilities) {
	rules := map[string][]nft.Rule{}
	for _, r := range l.Rules {
		rules[r.Chain] = append(rules[r.Chain], r)
	}
	for _, c := range l.Chains {
		id, _, ok := strings.Cut(c.Name, "-")
		if !ok || c.Hook != "" {
			continue
		}
		p := s.programs[id]
		if p == nil {
			p = &attachedProgram{intact: true}
			s.programs[id] = p
		}
		key, _, whole := noted(c, can, rules[c.Name])
		if p.key == "" {
			p.key = key
		}
		p.intact = p.intact && whole && p.key == key
		p.states = p.states || marks(rules[c.Name])
		p.chains = append(p.chains, c)
	}
	for _, p := range s.ports {
		if program := s.programs[p.id()]; program != nil {
			program.users++
		}
	}
}

func marks(rules []nft.Rule) bool {
	return slices.ContainsFunc(rules, func(r nft.Rule) bool {
		return slices.ContainsFunc(r.Exprs, func(x nft.Expr) bool { m, ok := x.(nft.Marked); return ok && m.Mask&markBits != 0 })
	})
}

// fits reports whether a table has all of the structure, and no other chain that the kernel calls by itself.
func (s *structure) fits(l *nft.Listing) bool {
	if l.Table.Flags != 0 {
		return false
	}
	for _, want := range s.sets {
		if got, ok := l.Set(want.Name); !ok || !sameSet(got, want) {
			return false
		}
	}
	for _, want := range s.chains {
		if got, ok := l.Chain(want.Name); !ok || !sameChain(got, want) || !s.sameRules(l, want.Name) {
			return false
		}
	}
	return !slices.ContainsFunc(l.Chains, s.foreign)
}

// foreign reports whether a chain is called by the kernel and none of the structure's.
func (s *structure) foreign(c nft.Chain) bool {
	return c.Hook != "" && !slices.ContainsFunc(s.chains, func(x nft.Chain) bool { return x.Name == c.Name })
}

func sameSet(a, b nft.Set) bool {
	return a.Type == b.Type && a.Data == b.Data && a.Flags == b.Flags && a.Dynamic == b.Dynamic
}

func sameChain(a, b nft.Chain) bool {
	return a.Type == b.Type && a.Hook == b.Hook && a.Priority == b.Priority && a.Policy == b.Policy
}

func (s *structure) sameRules(l *nft.Listing, chain string) bool {
	return slices.EqualFunc(l.RulesOf(chain), s.rulesOf(chain), nft.Rule.Equal)
}

// Observe implements nwfilter.Backend.
func (b *Backend) Observe(ctx context.Context) (map[string]nwfilter.Attached, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.look(ctx)
	if err != nil {
		return nil, b.failed("look at network filters", err)
	}
	out := make(map[string]nwfilter.Attached, len(s.ports))
	for name, p := range s.ports {
		program, ok := s.whole(p)
		if !ok {
			continue
		}
		if values, ok := s.valuesOf(p); ok {
			out[name] = nwfilter.Attached{Key: program.key, Hash: values.Hash()}
		}
	}
	return out, nil
}

// valuesOf reads a port's values from its elements.
func (s *sight) valuesOf(p *attachedPort) (nwfilter.Values, bool) {
	out := nwfilter.Values{}
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		set := s.sets[name]
		var all [][]byte
		for _, t := range p.values[name] {
			v, err := value(set.Type, t)
			if err != nil {
				return nil, false
			}
			all = append(all, v)
		}
		slices.SortFunc(all, slices.Compare[[]byte])
		slot := nwfilter.SlotName(set.Comment)
		if other, ok := out[slot]; ok && !slices.EqualFunc(other, all, bytes.Equal) {
			return nil, false
		}
		out[slot] = all
	}
	return out, true
}
