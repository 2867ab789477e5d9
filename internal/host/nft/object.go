package nft

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Object is something nf_tables holds: a Table, Chain, Set, Rule or Elements. It is inert data; a Transaction says what
// shall happen to it.
type Object interface {
	// words is how the object is named after a verb: "chain ip taproom forward".
	words() string
	// body is what follows when the object is added: "{ type filter hook … }"; empty when there is nothing to say.
	body() string
	// validate says what is wrong with it, before the kernel does so with a bare number.
	validate() error
}

// Table is a name for a set of chains, sets and rules.
type Table struct {
	Family  Family
	Name    string
	Comment string
	Flags   TableFlags
	Handle  uint64 // read from the kernel; not compared, not sent
}

// TableFlags are a table's.
type TableFlags uint32

// The flags of tables.
const (
	// Dormant tables do nothing.
	Dormant TableFlags = 1 << iota
	// Owned says that the table can be changed only by the connection that made it or took it over, and goes with it. A
	// `nft flush ruleset` of anybody else passes it over (Linux 5.12).
	Owned
	// Persistent, with Owned, says that it stays when its owner goes, and belongs to nobody then, until somebody takes it
	// over by adding it with both flags (Linux 6.9).
	Persistent
)

// String is the flags as nft writes them.
func (f TableFlags) String() string {
	var words []string
	for i, word := range []string{"dormant", "owner", "persist"} {
		if f&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

func parseFlags(s string) (f TableFlags, err error) {
	for word := range strings.SplitSeq(s, ",") {
		i := slices.Index([]string{"dormant", "owner", "persist"}, strings.TrimSpace(word))
		if i < 0 {
			return 0, fmt.Errorf("a table has no flag %q", word)
		}
		f |= 1 << i
	}
	return f, nil
}

// Chain is a list of rules; with a Hook it is a base chain, which the kernel calls by itself.
type Chain struct {
	Family   Family
	Table    string
	Name     string
	Type     string // "filter" or "nat"; empty in a regular chain
	Hook     string // "forward", …; empty in a regular chain
	Priority int32
	Policy   string // "accept" or "drop"; empty in a regular chain
	Comment  string
	Handle   uint64
}

// Set is a named hash set, or with Data a map. Type is nft's: "ifname", or a concatenation such as "ifname . ipv4_addr".
type Set struct {
	Family Family
	Table  string
	Name   string
	Type   string
	Data   string // of a map, what its keys lead to: "ipv4_addr", "interval ipv4_addr . inet_service"; see NAT
	// Dynamic says that packets make its members; see Count. They are in no dump and no listing of the table.
	Dynamic bool
	Comment string
	Flags   uint32 // read from the kernel: anything but 0 is a set outside the subset
	Handle  uint64
}

// Rule is a line of a chain. Position is its place among the rules, which the kernel keeps in order.
type Rule struct {
	Family  Family
	Table   string
	Chain   string
	Exprs   []Expr
	Comment string
	Handle  uint64
}

// Elements are members of a set, each written as nft does but without quotes: "virbr0 . 192.168.122.0"; those of a map with
// what they lead to: "192.168.122.0 : 192.0.2.1-192.0.2.9 . 1024-65535". A key that leads elsewhere already is refused
// (EEXIST); a deletion looks at the key alone.
type Elements struct {
	Set  Set
	Keys []string
}

func (t Table) words() string { return fmt.Sprintf("table %s %s", t.Family, t.Name) }
func (c Chain) words() string { return fmt.Sprintf("chain %s %s %s", c.Family, c.Table, c.Name) }
func (s Set) words() string   { return fmt.Sprintf("%s %s %s %s", s.word(), s.Family, s.Table, s.Name) }
func (r Rule) words() string  { return fmt.Sprintf("rule %s %s %s", r.Family, r.Table, r.Chain) }
func (e Elements) words() string {
	return fmt.Sprintf("element %s %s %s", e.Set.Family, e.Set.Table, e.Set.Name)
}

func (t Table) body() string {
	var parts []string
	if t.Flags != 0 {
		parts = append(parts, fmt.Sprintf("flags %s;", t.Flags))
	}
	if t.Comment != "" {
		parts = append(parts, fmt.Sprintf("comment %q;", t.Comment))
	}
	if len(parts) == 0 {
		return ""
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

func (c Chain) body() string {
	var parts []string
	if c.Hook != "" {
		parts = append(parts, c.hookText()+"; policy "+c.Policy+";")
	}
	if c.Comment != "" {
		parts = append(parts, fmt.Sprintf("comment %q;", c.Comment))
	}
	if len(parts) == 0 {
		return ""
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

func (c Chain) hookText() string {
	return fmt.Sprintf("type %s hook %s priority %s", c.Type, c.Hook, c.Family.priorityText(c.Hook, c.Priority))
}

// word is what nft calls it.
func (s Set) word() string {
	if s.Data != "" {
		return "map"
	}
	return "set"
}

func (s Set) typeText() string {
	if strings.HasPrefix(s.Type, typeof) {
		return s.Type
	}
	if s.Data != "" {
		return "type " + s.Type + " : " + s.Data
	}
	return "type " + s.Type
}

func (s Set) body() string {
	parts := []string{s.typeText()}
	if s.Dynamic {
		parts = append(parts, fmt.Sprintf("size %d", dynamicSize), "flags dynamic")
	}
	if s.Comment != "" {
		parts = append(parts, fmt.Sprintf("comment %q", s.Comment))
	}
	return "{ " + strings.Join(parts, "; ") + "; }"
}

func (r Rule) body() string { return r.Text() }

// Text is the rule without its place: what follows "add rule FAMILY TABLE CHAIN". Two rules that do the same have the
// same text, except for the numbers a counter has counted; see Equal.
func (r Rule) Text() string {
	words := make([]string, 0, len(r.Exprs)+1)
	for _, e := range r.Exprs {
		if e == nil {
			e = Opaque{Name: "nil"} // refused by validate, but its error shows the rule
		}
		words = append(words, e.String())
	}
	if r.Comment != "" {
		words = append(words, fmt.Sprintf("comment %q", r.Comment))
	}
	return strings.Join(words, " ")
}

// Equal reports whether two rules say the same in the same chain, whatever their handles and counters.
func (r Rule) Equal(o Rule) bool {
	return r.words() == o.words() && r.reset().Text() == o.reset().Text()
}

// reset returns the rule with its counters at zero.
func (r Rule) reset() Rule {
	out := r
	out.Exprs = make([]Expr, len(r.Exprs))
	for i, e := range r.Exprs {
		if _, ok := e.(Counter); ok {
			e = Counter{}
		}
		out.Exprs[i] = e
	}
	return out
}

func (e Elements) body() string {
	t, err := e.Set.elementType()
	if err != nil {
		return "{ }"
	}
	keys := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		keys[i] = t.quote(k, false)
	}
	return "{ " + strings.Join(keys, ", ") + " }"
}

var (
	errName = errors.New("must begin with a letter, then letters, digits or / . _ -, at most 128 in all")
	// nameForm is what nft's own scanner takes for a name without quotes.
	nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9/._-]{0,127}$`)
)

func checkNames(names ...string) error {
	for _, n := range names {
		if !nameForm.MatchString(n) {
			return fmt.Errorf("name %q: %w", n, errName)
		}
	}
	return nil
}

// checkComment keeps a comment printable inside quotes: nft's language has no way to escape a quote.
func checkComment(s string) error {
	if len(s) > 127 {
		return fmt.Errorf("comment of %d bytes: at most 127", len(s))
	}
	for _, r := range s {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return fmt.Errorf("comment %q: only printable ASCII without quotes and backslashes", s)
		}
	}
	return nil
}

func checkFamily(f Family) error {
	if _, ok := familyNames()[f]; !ok {
		return fmt.Errorf("unknown family %d", uint8(f))
	}
	return nil
}

func (t Table) validate() error {
	return errors.Join(checkFamily(t.Family), checkNames(t.Name), checkComment(t.Comment))
}

func (c Chain) validate() error {
	if err := errors.Join(checkFamily(c.Family), checkNames(c.Table, c.Name), checkComment(c.Comment)); err != nil {
		return err
	}
	if c.Hook == "" {
		if c.Type != "" || c.Policy != "" || c.Priority != 0 {
			return errors.New("type, priority and policy need a hook")
		}
		return nil
	}
	if _, err := c.Family.hookNumber(c.Hook); err != nil {
		return err
	}
	if c.Type != "filter" && c.Type != "nat" && c.Type != "route" {
		return fmt.Errorf("chain type %q: use filter, nat or route", c.Type)
	}
	if c.Policy != "accept" && c.Policy != "drop" {
		return fmt.Errorf("policy %q: use accept or drop", c.Policy)
	}
	return nil
}

func (s Set) validate() error {
	if err := errors.Join(checkFamily(s.Family), checkNames(s.Table, s.Name), checkComment(s.Comment)); err != nil {
		return err
	}
	if s.Flags != 0 {
		return fmt.Errorf("set flags %#x are outside the subset", s.Flags)
	}
	if s.Dynamic && s.Data != "" {
		return errors.New("packets make members of sets only")
	}
	_, err := s.elementType()
	return err
}

func (r Rule) validate() error {
	if err := errors.Join(checkFamily(r.Family), checkNames(r.Table, r.Chain), checkComment(r.Comment)); err != nil {
		return err
	}
	_, err := encodeExprs(r.Family, r.Exprs)
	return err
}

func (e Elements) validate() error {
	if err := e.Set.validate(); err != nil {
		return err
	}
	if len(e.Keys) == 0 {
		return errors.New("no elements named")
	}
	t, err := e.Set.elementType()
	if err != nil {
		return err
	}
	for _, k := range e.Keys {
		if _, _, err := t.encode(k); err != nil {
			return err
		}
	}
	return nil
}
