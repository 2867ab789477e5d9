package lease

import (
	"net/netip"
	"testing"

	"taproom/internal/network/packet"
)

// fixed is a clock that stands.
func fixed() Clock { return at("boot-a", 50, 1_700_000_000) }

func at(boot string, steady, wall int64) Clock {
	return Clock{Boot: boot, Steady: func() int64 { return steady }, Wall: func() int64 { return wall }}
}

func TestALeaseRunsByTheTimeTheMachineIsUp(t *testing.T) {
	t.Parallel()
	given := Lease{IP: netip.MustParseAddr("fd00::7"), MAC: packet.MAC{2}, ClientID: "00:04", IAID: 7, Ends: 3650}
	file := at("boot-a", 50, 1_700_000_000).Append(nil, given)
	for _, c := range []struct {
		name  string
		clock Clock
		want  int64 // the seconds that are left
	}{
		{"at once", at("boot-a", 50, 1_700_000_000), 3600},
		{"half an hour later", at("boot-a", 1850, 1_700_001_800), 1800},
		{"half an hour later, with a calendar that jumped a day", at("boot-a", 1850, 1_700_088_200), 1800},
		{"half an hour later, with a calendar of 1970", at("boot-a", 1850, 1800), 1800},
		{"after another boot", at("boot-b", 20, 1_700_000_600), 3000},
		{"long after", at("boot-b", 20, 1_700_008_000), -4400},
		{"after another boot, with a calendar of 1970", at("boot-b", 20, 20), 3600},
		{"on a machine that cannot tell its boots apart", at("", 20, 1_700_000_600), 3000},
	} {
		got, damaged := c.clock.Parse(file)
		if damaged != 0 || len(got) != 1 || got[0].Ends-c.clock.Now() != c.want {
			t.Errorf("%s: %+v, %d damaged; want %d seconds left", c.name, got, damaged, c.want)
			continue
		}
		if got[0].Live(c.clock.Now()) != (c.want > 0) {
			t.Errorf("%s: live %t", c.name, !(c.want > 0))
		}
		got[0].Ends = given.Ends
		if got[0] != given {
			t.Errorf("%s: %+v, want %+v", c.name, got[0], given)
		}
	}
}

func TestALeaseWithoutAnEndHasNoneAnywhere(t *testing.T) {
	t.Parallel()
	given := Lease{IP: netip.MustParseAddr("10.0.0.1"), Ends: Never}
	if r := fixed().Record(given); r.Expiry != 0 || r.Boot != "" {
		t.Errorf("told as %+v", r)
	}
	got, _ := at("other", 1, 2_000_000_000).Parse(fixed().Append(nil, given))
	if len(got) != 1 || got[0] != given {
		t.Errorf("%+v, want %+v", got, given)
	}
}

func TestTheMachineHasAClock(t *testing.T) {
	t.Parallel()
	c, err := System()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Boot) != 16 || c.Now() <= 0 || c.Wall() < 1_700_000_000 {
		t.Errorf("boot %q, up for %d s, at %d", c.Boot, c.Now(), c.Wall())
	}
}
