package lan_test

import (
	"strings"
	"testing"

	"taproom/internal/host"
	"taproom/internal/network/lan"
)

// seen is a host with a wired NIC, which a case changes.
func seen(change func(s *lan.Seen)) *lan.Seen {
	nic := host.Link{Index: 2, Name: "eth0", MAC: "02:00:5e:00:00:01", MTU: 1500, Up: true}
	s := &lan.Seen{
		NIC: lan.Side{Link: nic, Carrier: true}, Device: host.NetDevice{Ethernet: true, Device: true},
		Links: []host.Link{nic, {Index: 3, Name: "eth1", MAC: "02:00:5e:00:00:02", Up: true}},
	}
	change(s)
	return s
}

func TestWhatABridgeCannotBeMadeOfAndWhatInstead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *lan.Seen)
		bridge string
		want   string
	}{
		"a wired NIC can":   {func(*lan.Seen) {}, "br0", ""},
		"a bond too":        {func(s *lan.Seen) { s.NIC.Link.Kind = "bond" }, "br0", ""},
		"no link":           {func(s *lan.Seen) { s.NIC.Link = host.Link{} }, "br0", "there is no link eth0; a bridge can be made of eth0, eth1"},
		"Wi-Fi":             {func(s *lan.Seen) { s.Device.Wireless = true }, "br0", "macvtap too, would hear nothing; use a network with <forward mode='nat'/>"},
		"the loopback":      {func(s *lan.Seen) { s.Device.Ethernet = false }, "br0", "carries no Ethernet"},
		"a bridge":          {func(s *lan.Seen) { s.NIC.Link.Kind = "bridge" }, "br0", "is a bridge itself: guests go on it as it is"},
		"a guest's tap":     {func(s *lan.Seen) { s.NIC.Link.Kind = "tun" }, "br0", "no way to your LAN; a bridge can be made of eth0, eth1"},
		"down":              {func(s *lan.Seen) { s.NIC.Link.Up = false }, "br0", "ip link set dev eth0 up"},
		"on a bridge":       {under("bridge"), "br0", "is a port of the bridge up0 already: put guests on that"},
		"in a bond":         {under("bond"), "br0", "taproom net bridge up0 makes a bridge of the whole"},
		"in another's":      {func(s *lan.Seen) { s.NIC.Link.Master = 99 }, "br0", "is a port of link 99"},
		"a macvtap on it":   {on("macvtap"), "br0", "macvtap top0 (taproom:web) lies on eth0"},
		"a VLAN on it can":  {on("vlan"), "br0", ""},
		"the name is taken": {func(s *lan.Seen) { s.Bridge.Link = host.Link{Index: 9, Kind: "bridge"} }, "br0", "there is a link br0 already, a bridge"},
		"no name":           {func(*lan.Seen) {}, "", "is no name for a link"},
		"a long name":       {func(*lan.Seen) {}, "a-name-of-16-cha", "is no name for a link"},
		"a path":            {func(*lan.Seen) {}, "../br0", "is no name for a link"},
		"a nexthop object":  {func(s *lan.Seen) { s.NIC.Routes = []host.HostRoute{{Unknown: 30}} }, "br0", "has a nexthop object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := lan.Refuse(seen(c.change), "eth0", c.bridge)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// under makes the NIC a port of another link.
func under(kind string) func(s *lan.Seen) {
	return func(s *lan.Seen) {
		s.NIC.Link.Master = 9
		s.Links = append(s.Links, host.Link{Index: 9, Name: "up0", Kind: kind})
	}
}

// on puts a link on the NIC.
func on(kind string) func(s *lan.Seen) {
	return func(s *lan.Seen) {
		s.Links = append(s.Links, host.Link{Index: 9, Name: "top0", Kind: kind, Lower: 2, Alias: "taproom:web"})
	}
}

func TestNotesSayWhatDoesNotMove(t *testing.T) {
	t.Parallel()
	s := seen(on("vlan"))
	s.NIC.Carrier = false
	got := strings.Join(lan.Notes(s, "br0"), "\n")
	for _, want := range []string{"top0 stays on eth0", "has no carrier"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
