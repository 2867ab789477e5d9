package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

var update = flag.Bool("update", false, "rewrite the plans in testdata")

const testGroup = 0x7461

// stateJSON is a State, or an Observed, in a test's file.
type stateJSON struct {
	Bridges  map[string]Bridge
	Ports    map[string]Port
	Macvlans map[string]Macvlan
	Lowers   map[string]Lower
	Shapers  map[string]Shaper
	Shapes   map[string]Shape
	Sysctls  map[string]string
	Elements []string
	Services map[string]Service
	Index    map[string]int
	Foreign  map[string]string
	All      bool
	Partial  bool

	Advertised []string
}

func readState(t *testing.T, b []byte) Observed {
	t.Helper()
	var j stateJSON
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		t.Fatal(err)
	}
	s := State{Bridges: j.Bridges, Ports: j.Ports, Macvlans: j.Macvlans, Lowers: j.Lowers, Shapers: j.Shapers, Shapes: j.Shapes, Sysctls: j.Sysctls, Elements: map[Element]bool{}, Services: j.Services}
	for _, e := range j.Elements {
		set, key, _ := strings.Cut(e, " ")
		s.Elements[Element{set, key}] = true
	}
	return Observed{State: s, Index: j.Index, Foreign: j.Foreign, All: j.All, Partial: j.Partial, Advertised: j.Advertised}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/diff/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			e := &Env{Group: testGroup, Firewall: &fakeFirewall{}, Services: &fakeServices{}}
			p, err := Diff(e, readState(t, a.Files[0].Data), readState(t, a.Files[1].Data).State)
			got := p.String()
			if err != nil {
				if !errors.Is(err, ErrForeign) {
					t.Errorf("%v is no ErrForeign", err)
				}
				got = err.Error() + "\n"
			}
			if *update {
				a.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(a.Files[2].Data), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", a.Files[2].Name, d)
			}
		})
	}
}

func TestWithoutDeletesKeepsTheRest(t *testing.T) {
	t.Parallel()
	a, err := txtar.ParseFile("testdata/diff/half-made.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Diff(&Env{Group: testGroup}, readState(t, a.Files[0].Data), readState(t, a.Files[1].Data).State)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.WithoutDeletes(); len(got) != len(p)-3 || strings.Contains(got.String(), "delete") {
		t.Errorf("of %d steps these are left:\n%s", len(p), got)
	}
}

func TestMergeAndCloneShareNothing(t *testing.T) {
	t.Parallel()
	a, err := txtar.ParseFile("testdata/diff/edit.txtar")
	if err != nil {
		t.Fatal(err)
	}
	one, two := readState(t, a.Files[0].Data).State, readState(t, a.Files[1].Data).State
	want := one.Clone()
	m := one.Merge(two)
	m.Bridges["virbr0"].Addresses[0] = m.Bridges["virbr0"].Addresses[1]
	delete(m.Ports, "vnet0")
	m.Elements[Element{"x", "y"}] = true
	if d := cmp.Diff(want, one, cmpPrefix); d != "" {
		t.Errorf("a merge changed what it merged (-want +got):\n%s", d)
	}
	s := one.Scope(two)
	if d := cmp.Diff(Scope{
		Bridges: []string{"virbr0"}, Ports: []string{"vnet0"}, Networks: []string{"net-1"},
		Elements: []Element{{"bridges", "virbr0"}, {"net16", "virbr0 . 10.1.0.0"}, {"net24", "virbr0 . 10.0.0.0"}},
	}, s,
		cmp.Comparer(func(a, b func(string) bool) bool { return (a == nil) == (b == nil) })); d != "" {
		t.Errorf("scope of both (-want +got):\n%s", d)
	}
}

// fakeFirewall is a FirewallBackend in memory.
type fakeFirewall struct {
	members map[Element]bool
	fail    bool // the next Apply takes effect, then reports an error
}

var _ FirewallBackend = (*fakeFirewall)(nil)

var errFake = errors.New("fake failure")

func (f *fakeFirewall) Observe(_ context.Context, only ...Element) ([]Element, error) {
	var out []Element
	for e := range f.members {
		if len(only) == 0 || slices.Contains(only, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fakeFirewall) Apply(_ context.Context, add, del []Element) error {
	if f.members == nil {
		f.members = map[Element]bool{}
	}
	for _, e := range add {
		f.members[e] = true
	}
	for _, e := range del {
		delete(f.members, e)
	}
	if f.fail {
		f.fail = false
		return errFake
	}
	return nil
}

func (f *fakeFirewall) Render(add, del []Element) []string {
	line := "# firewall"
	for _, e := range add {
		line += " +" + e.Set + " " + e.Key
	}
	for _, e := range del {
		line += " -" + e.Set + " " + e.Key
	}
	return []string{line}
}

// fakeServices is a ServiceBackend in memory.
type fakeServices struct {
	served map[string]Service
}

var _ ServiceBackend = (*fakeServices)(nil)

func (f *fakeServices) Observe(context.Context, ...string) (map[string]Service, error) {
	out := map[string]Service{}
	for n, s := range f.served {
		out[n] = s
	}
	return out, nil
}

func (f *fakeServices) Set(_ context.Context, network string, s Service, index int) error {
	if f.served == nil {
		f.served = map[string]Service{}
	}
	f.served[network] = Service{Bridge: s.Bridge, Fingerprint: s.Fingerprint, Index: index}
	return nil
}

func (f *fakeServices) Remove(_ context.Context, network string) error {
	delete(f.served, network)
	return nil
}

var cmpPrefix = cmpopts.EquateComparable(netip.Prefix{})
