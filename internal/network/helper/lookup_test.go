package helper_test

import (
	"net/netip"
	"testing"

	"taproom/internal/network/helper"
)

func TestALookupThatWaitsForADeadServerHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := dual()
	n.DNS.NoResolv, n.DNS.LocalOnly = false, false
	index := s.serveDual(n)
	s.host.Shell("ip link add dead type bridge; ip addr add 192.0.2.1/24 dev dead; ip link set dead up") // nobody answers there
	s.host.Keep("link dead")
	if err := s.h.SetResolvers(s.ctx, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53")}); err != nil {
		t.Fatal(err)
	}
	type result struct {
		a   helper.Answer
		err error
	}
	got := make(chan result, 1)
	go func() {
		a, err := s.h.Lookup(s.ctx, n.UUID, "slow.example", "A")
		got <- result{a, err}
	}()
	for range 50 {
		s.set(n, index)
		if a, err := s.h.Lookup(s.ctx, n.UUID, "files.nine.test", "A"); err != nil || len(a.Records) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	select {
	case r := <-got:
		t.Fatalf("the slow one was there first: %+v", r)
	default:
	}
	if r := <-got; r.err != nil || r.a.Status != "SERVFAIL" || len(r.a.Records) > 0 {
		t.Errorf("of a dead server: %+v", r)
	}
}
