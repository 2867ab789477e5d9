package probe

import "github.com/vishvananda/netlink"

func named(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func linkFeatures() []Feature {
	link := func(make func(base int) netlink.Link) func(int) error {
		return func(base int) error { return netlink.LinkAdd(make(base)) }
	}
	under := func(name string, base int) netlink.LinkAttrs {
		a := named(name)
		a.ParentIndex = base
		return a
	}
	return []Feature{
		{"tap", "CONFIG_TUN", "no guest has a NIC", true, link(func(int) netlink.Link {
			return &netlink.Tuntap{LinkAttrs: named("tap0"), Mode: netlink.TUNTAP_MODE_TAP}
		})},
		{"bridge", "CONFIG_BRIDGE", "there are no virtual networks", true, link(func(int) netlink.Link {
			return &netlink.Bridge{LinkAttrs: named("bridge0")}
		})},
		{"macvtap", "CONFIG_MACVTAP", "NICs of type direct are refused", false, link(func(base int) netlink.Link {
			return &netlink.Macvtap{Macvlan: netlink.Macvlan{LinkAttrs: under("macvtap0", base), Mode: netlink.MACVLAN_MODE_BRIDGE}}
		})},
		{"veth", "CONFIG_VETH", "`make run` and `make test` cannot build their networks", false, link(func(int) netlink.Link {
			return &netlink.Veth{LinkAttrs: named("veth0"), PeerName: "veth1"}
		})},
		{"ifb", "CONFIG_IFB", "what guests send is not shaped", false, link(func(int) netlink.Link {
			return &netlink.Ifb{LinkAttrs: named("ifbx")}
		})},
		{"vlan", "CONFIG_VLAN_8021Q", "VLAN devices cannot be made", false, link(func(base int) netlink.Link {
			return &netlink.Vlan{LinkAttrs: under("vlan0", base), VlanId: 7, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
		})},
		{"bridge-vlan-filtering", "CONFIG_BRIDGE_VLAN_FILTERING", "VLAN tags of NICs on bridges are refused", false, link(func(int) netlink.Link {
			on := true
			return &netlink.Bridge{LinkAttrs: named("bridge1"), VlanFiltering: &on}
		})},
	}
}
