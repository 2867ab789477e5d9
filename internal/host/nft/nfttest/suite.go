// Package nfttest holds the suite that every nft.Backend passes: the kernel and the one in memory.
package nfttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host/nft"
)

// TableName is the table that the suite makes, in family ip.
const TableName = "suite"

type suite struct {
	t *testing.T
	b nft.Backend
}

func (s suite) commit(x *nft.Transaction) {
	s.t.Helper()
	if err := s.b.Commit(context.Background(), x); err != nil {
		s.t.Fatalf("commit: %v\n%s", err, x)
	}
}

func (s suite) add(objects ...nft.Object) {
	s.t.Helper()
	x := &nft.Transaction{}
	for _, o := range objects {
		x.Add(o)
	}
	s.commit(x)
}

func (s suite) dump() *nft.Listing {
	s.t.Helper()
	l, err := s.b.Dump(context.Background(), nft.IPv4, TableName)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

func (s suite) want(text string) {
	s.t.Helper()
	if d := cmp.Diff(text, s.dump().String()); d != "" {
		s.t.Errorf("table (-want +got):\n%s", d)
	}
}

func (s suite) refused(x *nft.Transaction, errno unix.Errno, command string) {
	s.t.Helper()
	err := s.b.Commit(context.Background(), x)
	var e *nft.Error
	if !errors.As(err, &e) || !errors.Is(err, errno) || !strings.HasPrefix(e.Command, command) {
		s.t.Errorf("commit gave %v; want %v on %q", err, errno, command)
	}
}

// RunBackend runs the suite. open returns an empty backend for each case.
func RunBackend(t *testing.T, open func(*testing.T) nft.Backend) {
	cases := []struct {
		name string
		run  func(suite)
	}{
		{"a table that does not exist is ErrNoTable", noTable},
		{"the dump is what was added", func(s suite) { s.commit(Layout()); s.want(Want) }},
		{"adding again what is no rule changes nothing", addAgain},
		{"a transaction whose last object is refused changes nothing", atomic},
		{"what does not exist, exists already or is in use is refused by name", refusals},
		{"elements come and go, and those that stay are untouched", elements},
		{"what a map leads to is read back as nft lists it, and a key leads to one thing only", mapElements},
		{"a verdict map leads to chains, which stay as long as it does", verdictMap},
		{"what packets make is in no listing", dynamicSets},
		{"ten thousand elements are one transaction", manyElements},
		{"rules are inserted first and deleted by handle", ruleOrder},
		{"a flushed chain keeps nothing but itself", flush},
		{"a change in between is ErrChanged and changes nothing", changedBetween},
		{"a transaction is one generation, and one that fails is none", generations},
		{"a deleted table takes all with it and can be made again at once", deleteTable},
		{"an invalid object sticks and nothing is sent", sticks},
		{"an ended context sends nothing", ended},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(suite{t, open(t)}) })
	}
}

func noTable(s suite) {
	ctx := context.Background()
	_, err1 := s.b.Dump(ctx, nft.IPv4, TableName)
	_, err2 := s.b.Layout(ctx, nft.IPv4, TableName)
	for i, err := range []error{err1, err2} {
		if !errors.Is(err, nft.ErrNoTable) {
			s.t.Errorf("call %d gave %v", i, err)
		}
	}
}

func addAgain(s suite) {
	s.commit(Layout())
	x := &nft.Transaction{}
	x.Add(nft.Table{Family: nft.IPv4, Name: TableName})
	for _, o := range sets() {
		x.Add(o)
	}
	x.Add(base("forward", "filter", "forward", 0, "accept"))
	s.commit(x)
	s.want(Want)
}

func atomic(s suite) {
	s.commit(Layout())
	bridges := set("bridges", "ifname")
	x := &nft.Transaction{}
	x.Add(nft.Elements{Set: bridges, Keys: []string{"virbr0", "virbr1"}})
	x.Add(set("more", "ipv4_addr"))
	x.Flush(nft.Chain{Family: nft.IPv4, Table: TableName, Name: "forward"})
	x.Delete(nft.Elements{Set: set("hosts", "ipv4_addr"), Keys: []string{"192.0.2.1"}})
	s.refused(x, unix.ENOENT, "delete element ip suite hosts { 192.0.2.1 }")
	s.want(Want)
}

func refusals(s suite) {
	s.commit(Layout())
	one := func(do func(*nft.Transaction)) *nft.Transaction {
		x := &nft.Transaction{}
		do(x)
		return x
	}
	chain := nft.Chain{Family: nft.IPv4, Table: TableName, Name: "to"}
	s.refused(one(func(x *nft.Transaction) { x.Delete(chain) }), unix.EBUSY, "delete chain ip suite to")
	s.refused(one(func(x *nft.Transaction) { x.Delete(set("same", "ifname . ifname")) }), unix.EBUSY, "delete set ip suite same")
	s.refused(one(func(x *nft.Transaction) { x.Create(nft.Table{Family: nft.IPv4, Name: TableName}) }), unix.EEXIST, "create table ip suite")
	s.refused(one(func(x *nft.Transaction) { x.Delete(nft.Table{Family: nft.IPv4, Name: "absent"}) }), unix.ENOENT, "delete table ip absent")
	rule := nft.Rule{Family: nft.IPv4, Table: TableName, Chain: "to", Exprs: []nft.Expr{nft.Jump("absent")}}
	s.refused(one(func(x *nft.Transaction) { x.Add(rule) }), unix.ENOENT, "add rule ip suite to jump absent")
	rule.Exprs = []nft.Expr{nft.In{Key: []nft.Term{{Field: nft.IPSaddr}}, Set: "absent"}, nft.Drop()}
	s.refused(one(func(x *nft.Transaction) { x.Add(rule) }), unix.ENOENT, "add rule ip suite to ip saddr @absent drop")
	x := one(func(x *nft.Transaction) {
		x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}})
		x.Create(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}})
	})
	s.refused(x, unix.EEXIST, `create element ip suite bridges { "virbr0" }`)
	s.want(Want)
}

func elements(s suite) {
	s.commit(Layout())
	net := set("net24", "ifname . ipv4_addr")
	s.add(nft.Elements{Set: net, Keys: []string{"virbr1 . 192.168.123.0", "virbr0 . 192.168.122.0"}},
		nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}},
		nft.Elements{Set: set("flows", "ipv4_addr . ipv4_addr"), Keys: []string{"10.0.0.0 . 192.0.2.1"}})
	s.add(nft.Elements{Set: net, Keys: []string{"virbr0 . 192.168.122.0"}}) // there already
	x := &nft.Transaction{}
	x.Delete(nft.Elements{Set: net, Keys: []string{"virbr1 . 192.168.123.0"}})
	x.Add(nft.Elements{Set: net, Keys: []string{"virbr2 . 192.168.124.0"}})
	s.commit(x)
	want := map[string][]string{
		"net24": {"virbr0 . 192.168.122.0", "virbr2 . 192.168.124.0"}, "bridges": {"virbr0"}, "flows": {"10.0.0.0 . 192.0.2.1"},
	}
	if d := cmp.Diff(want, s.dump().Elements); d != "" {
		s.t.Errorf("elements (-want +got):\n%s", d)
	}
	l, err := s.b.Layout(context.Background(), nft.IPv4, TableName)
	if err != nil || l.String() != Want {
		s.t.Errorf("layout, error %v:\n%s", err, l)
	}
}

func mapElements(s suite) {
	s.commit(Layout())
	inward := dataMap("inward", "ipv4_addr . inet_proto . inet_service", "ipv4_addr . inet_service")
	twins := dataMap("twins", "ipv4_addr", "ipv4_addr")
	spans := dataMap("spans", "ipv4_addr", "interval ipv4_addr")
	outward := dataMap("outward", "ipv4_addr", "interval ipv4_addr . inet_service")
	s.add(nft.Elements{Set: inward, Keys: []string{"192.0.2.1 . tcp . 80 : 10.0.0.2 . 8080"}},
		nft.Elements{Set: twins, Keys: []string{"10.0.0.0 : 192.0.2.1"}},
		nft.Elements{Set: spans, Keys: []string{"10.0.0.0 : 192.0.2.1-192.0.2.9", "10.0.1.0 : 192.0.2.0-192.0.2.7", "10.0.2.0 : 192.0.2.1"}},
		nft.Elements{Set: outward, Keys: []string{"10.0.0.0 : 192.0.2.1-192.0.2.9 . 1024-65535", "10.0.1.0 : 192.0.2.1 . 80"}})
	s.add(nft.Elements{Set: spans, Keys: []string{"10.0.2.0 : 192.0.2.1/32"}}) // there already
	want := map[string][]string{
		"inward":  {"192.0.2.1 . tcp . 80 : 10.0.0.2 . 8080"},
		"twins":   {"10.0.0.0 : 192.0.2.1"},
		"spans":   {"10.0.0.0 : 192.0.2.1-192.0.2.9", "10.0.1.0 : 192.0.2.0/29", "10.0.2.0 : 192.0.2.1/32"},
		"outward": {"10.0.0.0 : 192.0.2.1-192.0.2.9 . 1024-65535", "10.0.1.0 : 192.0.2.1 . 80"},
	}
	if d := cmp.Diff(want, s.dump().Elements); d != "" {
		s.t.Errorf("elements (-want +got):\n%s", d)
	}
	x := &nft.Transaction{}
	x.Add(nft.Elements{Set: twins, Keys: []string{"10.0.0.0 : 192.0.2.2"}})
	s.refused(x, unix.EEXIST, "add element ip suite twins { 10.0.0.0 : 192.0.2.2 }")
	x = &nft.Transaction{}
	x.Delete(nft.Elements{Set: twins, Keys: []string{"10.0.0.0 : 192.0.2.7"}}) // the key counts
	x.Add(nft.Elements{Set: twins, Keys: []string{"10.0.0.0 : 192.0.2.2"}})
	s.commit(x)
	if d := cmp.Diff([]string{"10.0.0.0 : 192.0.2.2"}, s.dump().Elements["twins"]); d != "" {
		s.t.Errorf("twins (-want +got):\n%s", d)
	}
	x = &nft.Transaction{}
	x.Delete(twins)
	s.refused(x, unix.EBUSY, "delete map ip suite twins")
	rule := nft.Rule{Family: nft.IPv4, Table: TableName, Chain: "nat"}
	rule.Exprs = []nft.Expr{nft.NAT{Kind: "snat", Key: []nft.Term{{Field: nft.IPSaddr}}, Map: "hosts", Data: "ipv4_addr"}}
	x = &nft.Transaction{}
	x.Add(rule)
	s.refused(x, unix.EINVAL, "add rule ip suite nat snat to ip saddr map @hosts")
}

func dynamicSets(s suite) {
	s.commit(Layout())
	seen := dynamic("seen", "ifname")
	s.add(nft.Elements{Set: seen, Keys: []string{"virbr0"}})
	s.want(Want)
	if got, err := s.b.Counts(context.Background(), seen); err != nil || len(got) > 1 {
		s.t.Errorf("counts %v, error %v", got, err)
	}
	x := &nft.Transaction{}
	x.Add(nft.Elements{Set: seen, Keys: []string{"virbr1"}})
	x.Delete(nft.Elements{Set: seen, Keys: []string{"virbr1", "virbr0"}})
	s.commit(x)
	if got, err := s.b.Counts(context.Background(), seen); err != nil || len(got) != 0 {
		s.t.Errorf("counts %v, error %v", got, err)
	}
	if _, err := s.b.Counts(context.Background(), dynamic("absent", "ifname")); !errors.Is(err, nft.ErrNoTable) {
		s.t.Errorf("of a set that is not there: %v", err)
	}
}

func manyElements(s suite) {
	s.commit(Layout())
	net := set("net24", "ifname . ipv4_addr")
	keys := make([]string, 10000)
	for i := range keys {
		keys[i] = fmt.Sprintf("br%05d . 10.%d.%d.0", i, i/256, i%256)
	}
	s.add(nft.Elements{Set: net, Keys: keys})
	if d := cmp.Diff(map[string][]string{"net24": keys}, s.dump().Elements); d != "" {
		s.t.Errorf("elements (-want +got):\n%s", d)
	}
	x := &nft.Transaction{}
	x.Delete(nft.Elements{Set: net, Keys: keys})
	s.commit(x)
	s.want(Want)
}

func ruleOrder(s suite) {
	s.commit(Layout())
	rule := nft.Rule{Family: nft.IPv4, Table: TableName, Chain: "early", Exprs: []nft.Expr{nft.Match{Field: nft.IIfName, Value: "a"}, nft.Accept()}}
	x := &nft.Transaction{}
	x.Add(rule)
	rule.Exprs = []nft.Expr{nft.Match{Field: nft.IIfName, Value: "b"}, nft.Accept()}
	x.Insert(rule)
	s.commit(x)
	got := s.dump().RulesOf("early")
	if len(got) != 2 || got[0].Text() != `iifname "b" accept` || got[1].Text() != `iifname "a" accept` || !got[0].Equal(rule) {
		s.t.Fatalf("rules %v", got)
	}
	x = &nft.Transaction{}
	x.Delete(got[0])
	x.Delete(got[1])
	s.commit(x)
	s.want(Want)
	x = &nft.Transaction{}
	x.Delete(got[0])
	s.refused(x, unix.ENOENT, "delete rule ip suite early handle ")
}

func flush(s suite) {
	s.commit(Layout())
	s.add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}})
	x := &nft.Transaction{}
	x.Flush(nft.Chain{Family: nft.IPv4, Table: TableName, Name: "forward"})
	x.Flush(set("bridges", "ifname"))
	s.commit(x)
	l := s.dump()
	if n := len(l.RulesOf("forward")); n != 0 || len(l.RulesOf("masq")) != 6 || len(l.Elements) != 0 {
		s.t.Errorf("after the flush:\n%s", l)
	}
}

func changedBetween(s suite) {
	s.commit(Layout())
	gen := s.dump().Generation
	extra := func() *nft.Transaction {
		x := &nft.Transaction{}
		x.IfGeneration(gen)
		x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}})
		return x
	}
	s.add(set("other", "ipv4_addr"))
	if err := s.b.Commit(context.Background(), extra()); !errors.Is(err, nft.ErrChanged) {
		s.t.Errorf("commit after a change gave %v", err)
	}
	if l := s.dump(); len(l.Elements) != 0 {
		s.t.Errorf("it was applied:\n%s", l)
	}
	gen = s.dump().Generation
	s.commit(extra())
}

func generations(s suite) {
	now := func() uint32 {
		g, err := s.b.Generation(context.Background())
		if err != nil {
			s.t.Fatal(err)
		}
		return g
	}
	began := now()
	s.commit(Layout())
	s.add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0", "virbr1"}})
	x := &nft.Transaction{}
	x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr2"}})
	x.Delete(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr3"}})
	s.refused(x, unix.ENOENT, `delete element ip suite bridges { "virbr3" }`)
	x = &nft.Transaction{}
	x.Delete(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}})
	x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr4"}})
	s.commit(x)
	if g := now(); g != began+3 || s.dump().Generation != g {
		s.t.Errorf("generation %d after three transactions since %d; a dump is of %d", g, began, s.dump().Generation)
	}
}

func deleteTable(s suite) {
	s.commit(Layout())
	x := &nft.Transaction{}
	x.Delete(nft.Table{Family: nft.IPv4, Name: TableName})
	x.Append(Layout())
	s.commit(x)
	s.want(Want)
	x = &nft.Transaction{}
	x.Delete(nft.Table{Family: nft.IPv4, Name: TableName})
	s.commit(x)
	noTable(s)
}

func sticks(s suite) {
	s.commit(Layout())
	x := &nft.Transaction{}
	x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr0"}})
	x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"a name far too long"}})
	x.Add(nft.Elements{Set: set("bridges", "ifname"), Keys: []string{"virbr1"}})
	if err := s.b.Commit(context.Background(), x); !errors.Is(err, nft.ErrInvalid) || !errors.Is(x.Err(), nft.ErrInvalid) || x.Len() != 1 {
		s.t.Errorf("commit gave %v with %d changes", err, x.Len())
	}
	s.want(Want)
}

func ended(s suite) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.b.Commit(ctx, Layout()); !errors.Is(err, context.Canceled) {
		s.t.Errorf("commit gave %v", err)
	}
	noTable(s)
}
