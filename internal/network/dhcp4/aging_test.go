package dhcp4

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsSetAgainLivesLonger(t *testing.T) {
	t.Parallel()
	m := newAging[string, int](10)
	m.set("a", 1, 0)
	m.set("b", 2, 1)
	m.set("a", 3, 5)
	if _, ok := m.get("b", 11); ok {
		t.Error("b is there after its time, before anybody tidied")
	}
	var order []string
	for k := range m.all() {
		order = append(order, k)
	}
	gone := m.tidy(11)
	if diff := cmp.Diff([]string{"b", "a"}, order); diff != "" || len(gone) != 1 || gone[0].key != "b" || gone[0].value != 2 {
		t.Errorf("gone %v, order (-want +got):\n%s", gone, diff)
	}
	if v, ok := m.get("a", 14); !ok || v != 3 {
		t.Errorf("a is %d, %t", v, ok)
	}
	n := newAging[string, int](10)
	n.inherit(m)
	if v, ok := n.get("a", 14); !ok || v != 3 || len(n.tidy(15)) != 1 {
		t.Errorf("inherited: a is %d, %t", v, ok)
	}
}

func TestTheNextMemberOfABitmapIsFoundAcrossItsEnd(t *testing.T) {
	t.Parallel()
	b := newBitmap(130)
	if i, ok := b.next(5); ok {
		t.Errorf("an empty bitmap has %d", i)
	}
	for _, i := range []int{3, 64, 129} {
		b.put(i, true)
	}
	got := map[int]int{}
	for _, from := range []int{0, 3, 4, 64, 65, 129} {
		got[from], _ = b.next(from)
	}
	if diff := cmp.Diff(map[int]int{0: 3, 3: 3, 4: 64, 64: 64, 65: 129, 129: 129}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	b.put(129, false)
	if i, ok := b.next(100); !ok || i != 3 {
		t.Errorf("from 100 on: %d, %t", i, ok)
	}
	if _, ok := newBitmap(0).next(0); ok {
		t.Error("a bitmap without room has a member")
	}
}
