package host_test

import (
	"errors"
	"fmt"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// leaving is the group of links that go.
const leaving = 0x40007461

// manyTaps makes n taps on a bridge and returns their indexes.
func manyTaps(t testing.TB, k *host.Kernel, bridge, n int) (indexes []int, closeAll func() error) {
	t.Helper()
	var taps []*host.Tap
	for i := range n {
		tap, err := k.CreateTap(host.TapSpec{Name: fmt.Sprint("vnet", i)})
		if err == nil {
			err = k.SetLink(tap.Index, host.LinkSettings{Master: bridge, Up: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		taps, indexes = append(taps, tap), append(indexes, tap.Index)
	}
	return indexes, func() error {
		var err error
		for _, tap := range taps {
			err = errors.Join(err, tap.Close())
		}
		return err
	}
}

func TestManyLinksAreRemovedAtOnceEvenIfSomeAreGone(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	calls := map[string]int{}
	k := ns.KernelWith(func(c string) { calls[c]++ })
	defer k.Close()
	bridge, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	must(t, err)
	indexes, closeAll := manyTaps(t, k, bridge, 70) // more than are under way at a time
	clear(calls)
	must(t, k.DeleteLinks(leaving, append(indexes, 999999)))
	if calls["link set"] != 71 || calls["link delete"] != 1 {
		t.Errorf("announced for 71 removals: %v, want 71 moves into a group and its removal", calls)
	}
	links, err := k.Links()
	if err != nil || len(links) != 2 {
		t.Errorf("left: %v, %v, want lo and br0", links, err)
	}
	must(t, errors.Join(closeAll(), k.DeleteLinks(leaving, []int{bridge}), k.DeleteLinks(leaving, nil)))
	if err := k.DeleteLinks(leaving, []int{0, -1}); err == nil {
		t.Error("indexes that are none were accepted")
	}
	if err := k.DeleteLinks(0, []int{1, 2}); err == nil {
		t.Error("the group that every link is in was accepted")
	}
}

func BenchmarkRemove82BridgedTaps(b *testing.B) {
	for name, remove := range map[string]func(k *host.Kernel, indexes []int) error{
		"together": func(k *host.Kernel, indexes []int) error { return k.DeleteLinks(leaving, indexes) },
		"in turn": func(k *host.Kernel, indexes []int) error {
			var err error
			for _, i := range indexes {
				err = errors.Join(err, k.DeleteLink(i))
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			ns := hosttest.NewNS(b)
			k := ns.Kernel()
			bridge, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				indexes, closeAll := manyTaps(b, k, bridge, 82)
				b.StartTimer()
				err := remove(k, indexes)
				b.StopTimer()
				if err := errors.Join(err, closeAll()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			if err := k.DeleteLink(bridge); err != nil {
				b.Fatal(err)
			}
		})
	}
}
