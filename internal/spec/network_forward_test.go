package spec

import "testing"

func TestTheWayOutOfANetworkIsChecked(t *testing.T) {
	t.Parallel()
	const ip = "<ip address='10.1.2.1' prefix='24'/>"
	for _, c := range []struct{ forward, want string }{
		{"<forward mode='route'/>" + ip, ""},
		{"<forward mode='route'/>", "invalid forward: there is no <ip>; mode route needs an address"},
		{"<forward dev='e0'/>" + ip, ""},
		{"<forward mode='nat' dev='e0'><interface dev='e0'/></forward>" + ip, ""},
		{"<forward mode='nat'><interface dev='e0'/></forward>" + ip, ""},
		{"<forward mode='nat' dev='e0'><interface dev='e1'/></forward>" + ip, `invalid forward/interface/@dev: the first, "e1", must be that of <forward dev='e0'>`},
		{"<forward mode='route'><interface dev='e0'/><interface dev='e1'/></forward>" + ip, "invalid forward/interface: mode route has one way out at most, not 2"},
		{"<forward mode='route'><interface dev='e0'/><interface dev='e0'/></forward>" + ip, "invalid forward/interface/@dev: e0 is named twice"},
		{"<forward mode='route'><interface/></forward>" + ip, "invalid forward/interface/@dev: it is missing"},
		{"<forward mode='route' dev='a/b'/>" + ip, `invalid forward/interface/@dev: "a/b" is no name of a link (1 to 15 characters, no '/', no white space)`},
		{"<forward mode='open' dev='e0'/>" + ip, "invalid forward: mode open has no rules, so its traffic is not tied to a link; leave e0 out"},
		{"<forward mode='private'><interface dev='e0'/><interface dev='e1'/></forward>", ""},
		{"<forward mode='passthrough' dev='e0'/>", ""},
		{"<forward mode='bridge'><interface dev='e0'/></forward>", ""},
		{"<forward mode='bridge'/><bridge name='br0'/>", ""},
		{"<forward mode='vepa'/>", "invalid forward/interface: mode vepa needs at least one <interface dev='…'/>"},
		{"<forward mode='vepa' dev='e0'/><bridge name='br0'/>", "invalid bridge: mode vepa puts guests on links of the host; leave it out"},
		{"<forward mode='bridge'/>", "invalid forward: mode bridge needs a <bridge name='…'/>, or at least one <interface dev='…'/>"},
		{"<forward mode='bridge' dev='e0'/><bridge name='br0'/>", "invalid forward: guests are either on bridge br0 or on e0; leave one of the two out"},
		{"<forward mode='private' dev='e0'/>" + ip, "ip is not supported: mode private has no address of its own: the host does not answer there"},
		{"<forward mode='bridge'/><bridge name='br0'/><dns/>", "dns is not supported: mode bridge serves no names"},
		{"<forward mode='bridge'/><bridge name='br0'/><domain name='x'/>", "domain is not supported: mode bridge serves no names"},
		{"<forward mode='route'><nat/></forward>" + ip, "invalid forward/nat: it is for mode nat, not route"},
	} {
		got := ""
		if err := validateNetwork("<network><name>n</name>" + c.forward + "</network>"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.forward, got, c.want)
		}
	}
}

func TestTheFirstLinkIsInBothPlaces(t *testing.T) {
	t.Parallel()
	for _, xml := range []string{"<forward dev='e0'/>", "<forward><interface dev='e0'/></forward>"} {
		n, err := ParseNetwork([]byte("<network><name>n</name>" + xml + "</network>"))
		if err != nil {
			t.Fatal(err)
		}
		n.Forward.Complete()
		f := n.Forward
		if f.Mode != "nat" || f.Dev != "e0" || len(f.Interfaces) != 1 || f.Interfaces[0].Dev != "e0" || len(f.Uplinks()) != 1 {
			t.Errorf("%s became %+v", xml, f)
		}
	}
}
