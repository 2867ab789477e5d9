package qos_test

import (
	"errors"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/load"
	"taproom/internal/network/qos"
)

// crowd are guests on one bridge, which gets what its network has.
type crowd struct {
	site   *load.Site
	host   load.In
	guests []load.In
	places []*load.Place
}

func newCrowd(t *testing.T, network qos.Limit, floors []uint64) *crowd {
	t.Helper()
	ns := hosttest.NewNS(t)
	site, err := load.NewSite(ns.Kernel(), "br0")
	if err != nil {
		t.Fatal(err)
	}
	closeAll(t, site.Close)
	c := &crowd{site: site, host: ns.Do}
	var parts []qos.Floor
	for i, kib := range floors {
		inside := hosttest.NewNS(t)
		place, err := site.Plug(inside.Kernel())
		if err != nil {
			t.Fatal(err)
		}
		closeAll(t, place.Close)
		c.guests, c.places = append(c.guests, inside.Do), append(c.places, place)
		if kib > 0 {
			parts = append(parts, qos.Floor{Class: qos.FirstClass + uint16(i), MAC: place.MAC, KiB: kib})
		}
	}
	c.divide(t, ns.Kernel(), network.Divide(mtu, parts).Tree)
	return c
}

// divide gives the bridge a tree.
func (c *crowd) divide(t *testing.T, k *host.Kernel, tree *qos.Tree) {
	t.Helper()
	var all error
	failed := func(err error) { all = errors.Join(all, err) }
	p, index := k.Pipeline(), c.site.Bridge
	p.SetTree(index, qos.Rest, failed)
	p.SetClass(index, 0, qos.Whole, tree.Whole, failed)
	p.SetClass(index, qos.Whole, qos.Rest, tree.Rest, failed)
	p.SetClassTBF(index, qos.Rest, tree.RestCut, failed)
	for _, l := range tree.Leaves {
		p.SetClass(index, qos.Whole, l.Class, l.HTBClass, failed)
		p.SetClassTBF(index, l.Class, l.Cut, failed)
		p.Classify(index, l.Class, l.MAC, failed)
	}
	p.Flush()
	if all != nil {
		t.Fatal(all)
	}
}

func (c *crowd) start(t *testing.T, i int) *load.Flow {
	t.Helper()
	f, err := load.Start(t.Context(), c.host, c.guests[i], load.Transport{Streams: 1}, c.places[i].Addr, mtu, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Each NIC has what its floor is while all receive, and the network no more than it has; what others leave is lent.
func TestFloorsAreKeptAndTheRestIsShared(t *testing.T) {
	t.Parallel()
	network, floors, window := uint64(2048), []uint64{128, 256, 512, 0}, 3*time.Second
	if whole() {
		network, floors, window = 65536, []uint64{4096, 8192, 16384, 0}, 10*time.Second
	}
	c := newCrowd(t, qos.Limit{Average: network}, floors)
	began := time.Now()
	var flows []*load.Flow
	defer func() {
		for _, f := range flows {
			f.Stop()
		}
	}()
	for i := range floors {
		flows = append(flows, c.start(t, i))
	}
	read := func() (all []load.Reading) {
		for _, f := range flows {
			all = append(all, f.Read())
		}
		return all
	}
	var rates []float64
	for late := time.Now().Add(patience); ; {
		first := read()
		<-time.After(window)
		kept, sum, total := true, 0.0, int64(0)
		rates = rates[:0]
		for i, last := range read() {
			rate := first[i].Until(last) / 1024
			rates = append(rates, rate)
			sum, total = sum+rate, total+last.Bytes
			kept = kept && first[i].Bytes > 0 && rate > 0.99*float64(floors[i])
		}
		if most := 1.01*float64(network<<10)*time.Since(began).Seconds() + 160<<10*float64(len(floors)); float64(total) > most {
			t.Fatalf("%d bytes passed, at most %.0f may have: %.0f KiB/s", total, most, rates)
		}
		if kept && sum > 0.98*float64(network) {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("with floors of %v of %d KiB/s passed %.0f", floors, network, rates)
		}
	}
	t.Logf("with floors of %v of %d KiB/s passed %.0f", floors, network, rates)
	for _, f := range flows[1:] {
		f.Stop()
	}
	(&attachment{}).settles(t, flows[0], network)
}
