package dns

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAFaultCostsOneAnswerAndIsCounted(t *testing.T) {
	t.Parallel()
	s, err := New(Config{}, newShared(t, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.contained(t.Context(), nil, pack(t, 1, "a.example. A"), 0, nil); got != nil {
		t.Errorf("answered % x", got)
	}
	if n := s.Stats().Faults; n != 1 {
		t.Errorf("%d faults were counted", n)
	}
	if _, err := s.shared.contained(t.Context(), nil, netip.MustParseAddrPort("192.0.2.1:53")); err == nil || !strings.Contains(err.Error(), "led to a fault") {
		t.Errorf("an attempt that faults: %v", err)
	}
}
