package alloc

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func of(t testing.TB, l *Links, template string) *Names {
	t.Helper()
	n, err := l.Of(template)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func take(t testing.TB, n *Names) string {
	t.Helper()
	name, err := n.Take()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEachTemplateHasItsOwnNames(t *testing.T) {
	t.Parallel()
	l := NewLinks()
	if _, err := l.Of("none"); err == nil {
		t.Error("a template without a number was accepted")
	}
	l.All(map[int]string{1: "lo", 2: "vnet0", 3: "macvtap0", 4: "macvtap1", 5: "web0"})
	vnet, macvtap := of(t, l, "vnet%d"), of(t, l, "macvtap%d")
	if a, b, c := take(t, vnet), take(t, macvtap), take(t, of(t, l, "vnet%d")); a != "vnet1" || b != "macvtap2" || c != "vnet2" {
		t.Errorf("got %s, %s, %s, want vnet1, macvtap2, vnet2", a, b, c)
	}
	web := of(t, l, "web%d") // comes later, and knows what there is
	if name := take(t, web); name != "web1" {
		t.Errorf("got %s, want web1", name)
	}
	if l.Matches("eth0") || !l.Matches("web7") {
		t.Error("names are not told apart by their templates")
	}
	l.Reserve("macvtap3")
	l.Reserve("eth0")
	l.Gone(4) // by whomever
	l.There(2, "eth7")
	if n := macvtap.seen.used + vnet.seen.used; n != 1 {
		t.Errorf("%d names are seen, want macvtap0 alone", n)
	}
	if name := take(t, macvtap); name != "macvtap4" {
		t.Errorf("got %s, want macvtap4: macvtap3 is reserved", name)
	}
	for _, name := range []string{"macvtap2", "macvtap3", "macvtap4", "eth0"} {
		l.Release(name)
	}
	if macvtap.used.used != 0 {
		t.Errorf("%d names are held after all were given back", macvtap.used.used)
	}
}

// TestNamesBehaveLikeTwoSets compares with a model: what is held, and what exists, as if both were looked up in maps.
func TestNamesBehaveLikeTwoSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const size = 100
		l := NewLinks()
		n, err := l.Of("thirteen-byte%d")
		if err != nil {
			t.Fatal(err)
		}
		held, there, next := map[int]bool{}, map[int]string{}, 0
		name := func(i int) string { return fmt.Sprint("thirteen-byte", i) }
		some := rapid.IntRange(0, size+9) // some follow no template: they are too long
		free := func(i int) bool {
			for _, other := range there {
				if other == name(i) {
					return false
				}
			}
			return !held[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				want := ""
				for off := range size {
					if i := (next + off) % size; free(i) {
						want, held[i], next = name(i), true, i+1
						break
					}
				}
				if got, err := n.Take(); got != want || (err == nil) != (want != "") {
					t.Fatalf("got %q, %v, want %q", got, err, want)
				}
			},
			"release": func(t *rapid.T) {
				i := some.Draw(t, "i")
				l.Release(name(i))
				delete(held, i)
			},
			"there": func(t *rapid.T) {
				index, i := rapid.IntRange(1, 30).Draw(t, "index"), some.Draw(t, "i")
				for at, other := range there {
					if other == name(i) && at != index {
						return // no two links have one name
					}
				}
				l.There(index, name(i))
				there[index] = name(i)
			},
			"gone": func(t *rapid.T) {
				index := rapid.IntRange(1, 30).Draw(t, "index")
				l.Gone(index)
				delete(there, index)
			},
			"all": func(t *rapid.T) {
				there = maps.Clone(there)
				for index, i := range rapid.SliceOfNDistinct(some, 0, 20, rapid.ID).Draw(t, "links") {
					delete(there, index+1)
					for at, other := range there {
						if other == name(i) {
							delete(there, at)
						}
					}
					there[index+1] = name(i)
				}
				l.All(there)
			},
			"": func(t *rapid.T) {
				if n.used.used != len(held) {
					t.Fatalf("%d are held, want %d", n.used.used, len(held))
				}
			},
		})
	})
}

func TestTenThousandLiveNamesCostNoMoreThanTen(t *testing.T) {
	t.Parallel()
	l := NewLinks()
	there := map[int]string{}
	for i := range 5000 {
		there[i+1] = fmt.Sprint("vnet", 2*i) // every other one is somebody's
	}
	l.All(there)
	n := of(t, l, "vnet%d")
	held := map[string]bool{}
	for range 10_000 {
		name := take(t, n)
		if held[name] {
			t.Fatalf("%s was handed out twice", name)
		}
		held[name] = true
	}
	for _, name := range there {
		if held[name] {
			t.Fatalf("%s was handed out, and somebody has it", name)
		}
	}
	if name := take(t, n); name != "vnet15000" {
		t.Errorf("the next is %s, want vnet15000", name)
	}
	l.All(nil)
	for name := range held {
		l.Release(name)
	}
	if name := take(t, n); name != "vnet15001" { // none is used again at once
		t.Errorf("the next is %s, want vnet15001", name)
	}
}

func TestSixteenGoroutinesAndTwoDaemonsNeverShareAName(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	const foreign, each = 40, 8
	for i := range foreign { // a dense block, which only one of the two knows of
		tap, err := k.CreateTap(host.TapSpec{Name: fmt.Sprint("vnet", i)})
		if err != nil {
			t.Fatal(err)
		}
		defer tap.Close()
		defer func() {
			if err := k.DeleteLink(tap.Index); err != nil {
				t.Error(err)
			}
		}()
	}
	informed, blind := NewLinks(), NewLinks()
	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}
	there := map[int]string{}
	for _, link := range links {
		there[link.Index] = link.Name
	}
	informed.All(there)
	taps := make(chan *host.Tap, 16*each)
	failed := make(chan error, 16*each)
	for g := range 16 {
		n := of(t, []*Links{informed, blind}[g%2], "vnet%d")
		go func() {
			for range each {
				var tap *host.Tap
				_, err := n.Create(func(name string) (err error) {
					tap, err = k.CreateTap(host.TapSpec{Name: name})
					return err
				})
				taps <- tap
				failed <- err
			}
		}()
	}
	names := map[string]bool{}
	var indexes []int
	for range cap(taps) {
		tap := <-taps
		if err := <-failed; err != nil || tap == nil {
			t.Errorf("a link was not made: %v", err)
			continue
		}
		names[tap.Name] = true
		indexes = append(indexes, tap.Index)
		defer tap.Close()
	}
	if len(names) != 16*each {
		t.Errorf("%d names for %d links", len(names), 16*each)
	}
	held := of(t, informed, "vnet%d").used.used + of(t, blind, "vnet%d").used.used
	if held != 16*each {
		t.Errorf("%d names are held by the two, want %d: what somebody else has is nobody's", held, 16*each)
	}
	if err := k.DeleteLinks(0x40007461, indexes); err != nil {
		t.Error(err)
	}
}
