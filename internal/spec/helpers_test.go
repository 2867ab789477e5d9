package spec

import (
	"math"
	"testing"
	"time"
)

func TestAmountsOfMemoryAreRoundedUpToKiB(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit, value string
		want        uint64
	}{
		{"", "10", 10},
		{"b", "1", 1},
		{"bytes", "1025", 2},
		{"KB", "1000", 977},
		{"k", "3", 3},
		{"KiB", " 3\n", 3},
		{"MB", "1", 977},
		{"M", "1", 1 << 10},
		{"GiB", "2", 2 << 20},
		{"g", "2", 2 << 20},
		{"TB", "1", 976562500},
		{"TiB", "1", 1 << 30},
		{"EiB", "7", 7 << 50},
	} {
		if got, err := (&Memory{Unit: c.unit, Value: c.value}).KiB(); err != nil || got != c.want {
			t.Errorf("%s %s = %d KiB, %v; want %d", c.value, c.unit, got, err, c.want)
		}
	}
	for _, m := range []*Memory{
		{Value: ""},
		{Value: "1.5"},
		{Value: "0x10"},
		{Value: "+1"},
		{Value: "1", Unit: "KiBi"},
		{Value: "1", Unit: "x"},
		{Value: "8", Unit: "EiB"},
		{Value: "18446744073709551616"},
		{Value: "18446744073709551615", Unit: "KiB"},
	} {
		if got, err := m.KiB(); err == nil {
			t.Errorf("%+v = %d KiB, want an error", m, got)
		}
	}
	if got, err := (*Memory)(nil).KiB(); got != 0 || err != nil {
		t.Errorf("no memory = %d, %v", got, err)
	}
}

func TestMACAddressesAreCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"52:54:00:AB:cd:0E": "52:54:00:ab:cd:0e", "2:0:0:0:0:1": "02:00:00:00:00:01"} {
		if got, err := ParseMAC(in); err != nil || got.String() != want {
			t.Errorf("ParseMAC(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "52:54:00:ab:cd", "52:54:00:ab:cd:0e:1", "52-54-00-ab-cd-0e", "52:54:00:ab:cd:", "052:54:00:ab:cd:0e", "52:54:00:ab:cd:+e"} {
		if got, err := ParseMAC(in); err == nil {
			t.Errorf("ParseMAC(%q) = %s, want an error", in, got)
		}
	}
}

func TestNumbersOfAddressesAreReadAsCDoes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]uint64{"0x1f": 31, "0X1F": 31, "31": 31, "037": 31, "0": 0, "0x0": 0} {
		if got, err := ParseNumber(in, 31); err != nil || got != want {
			t.Errorf("ParseNumber(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0x", "0x20", "32", "-1", "+1", "08", "1_0", "0b1", "x", "99999999999999999999999"} {
		if got, err := ParseNumber(in, 31); err == nil {
			t.Errorf("ParseNumber(%q) = %d, want an error", in, got)
		}
	}
}

func TestSubnetsAreReadFromPrefixNetmaskOrClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ip   IP
		want string
	}{
		{IP{Address: "192.168.122.1", Netmask: "255.255.255.0"}, "192.168.122.1/24"},
		{IP{Address: "192.168.122.1", Netmask: "255.255.255.255"}, "192.168.122.1/32"},
		{IP{Address: "192.168.122.1", Netmask: "0.0.0.0"}, "192.168.122.1/0"},
		{IP{Address: "10.0.0.1", Prefix: "30"}, "10.0.0.1/30"},
		{IP{Address: "10.0.0.1"}, "10.0.0.1/8"},
		{IP{Address: "172.16.0.1"}, "172.16.0.1/16"},
		{IP{Address: "192.168.0.1"}, "192.168.0.1/24"},
		{IP{Address: "fd00::1"}, "fd00::1/64"},
		{IP{Address: "fd00::1", Prefix: "80"}, "fd00::1/80"},
	} {
		if got, err := c.ip.Subnet(); err != nil || got.String() != c.want {
			t.Errorf("%+v = %s, %v; want %s", c.ip, got, err, c.want)
		}
	}
	for _, ip := range []IP{
		{},
		{Address: "1.2.3.4.5"},
		{Address: "fe80::1%eth0"},
		{Address: "::ffff:1.2.3.4"},
		{Address: "10.0.0.1", Prefix: "x"},
		{Address: "fd00::1", Netmask: "255.0.0.0"},
		{Address: "10.0.0.1", Netmask: "255.255.255.1"},
	} {
		if got, err := ip.Subnet(); err == nil {
			t.Errorf("%+v = %s, want an error", ip, got)
		}
	}
}

func TestLeasesLastAsLongAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lease *DHCPLease
		want  time.Duration
	}{
		{nil, time.Hour},
		{&DHCPLease{Expiry: "0"}, 0},
		{&DHCPLease{Expiry: "5"}, 5 * time.Minute},
		{&DHCPLease{Expiry: "120", Unit: "seconds"}, 2 * time.Minute},
		{&DHCPLease{Expiry: "2", Unit: "hours"}, 2 * time.Hour},
		{&DHCPLease{Expiry: "4294967294", Unit: "seconds"}, (math.MaxUint32 - 1) * time.Second},
	} {
		if got, err := c.lease.Duration(); err != nil || got != c.want {
			t.Errorf("%+v = %s, %v; want %s", c.lease, got, err, c.want)
		}
	}
	for _, l := range []*DHCPLease{{}, {Expiry: "1"}, {Expiry: "119", Unit: "seconds"}, {Expiry: "4294967295", Unit: "seconds"}, {Expiry: "9", Unit: "days"}, {Expiry: "2000000", Unit: "hours"}} {
		if got, err := l.Duration(); err == nil {
			t.Errorf("%+v = %s, want an error", l, got)
		}
	}
}

func TestVirtualCPUsAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vcpu         *VCPU
		most, online uint
	}{
		{nil, 1, 1}, {&VCPU{Value: "8"}, 8, 8}, {&VCPU{Value: "8", Current: "2"}, 8, 2},
	} {
		d := &Domain{VCPU: c.vcpu}
		most, err := d.MaxVCPUs()
		online, err2 := d.OnlineVCPUs()
		if err != nil || err2 != nil || most != c.most || online != c.online {
			t.Errorf("%+v = %d, %d, %v, %v; want %d, %d", c.vcpu, most, online, err, err2, c.most, c.online)
		}
	}
	if n, err := (&Topology{Sockets: "65535", Cores: "65535", Threads: "1"}).Count(); err == nil {
		t.Errorf("an enormous topology counts %d", n)
	}
}
