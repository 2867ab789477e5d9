package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// feature is something of the kernel that is tried in a throwaway namespace. need says what does not work without it.
type feature struct {
	name, config, need string
	status             Status // when it is missing
	try                func(base int) error
}

// checkFeatures tries what networks, NICs and limits are made of. base is a veth, or lo where there is none.
func checkFeatures(_ context.Context, e Env) []Finding {
	var out []Finding
	e.Kernel.Step("doctor try features")
	err := throwaway(func() error {
		for i, f := range features() {
			out = append(out, f.finding(tryFeature(f, fmt.Sprintf("base%d", i))))
		}
		return nil
	})
	if err != nil {
		return append(out, Finding{"features", Unknown, err.Error(), "run as root"})
	}
	return out
}

// tryFeature gives each feature a link of its own, so that what one leaves behind is not in another's way.
func tryFeature(f feature, name string) error {
	base := 1 // lo
	v := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: name + "p"}
	v.Name = name
	if err := netlink.LinkAdd(v); err == nil {
		base = v.Index
	}
	err := f.try(base)
	if missing(err) {
		return &host.Missing{What: f.name, Config: f.config, Err: err}
	}
	return err
}

// missing reports whether an error says that the kernel does not know such a thing; any other proves nothing.
func missing(err error) bool {
	for _, e := range []unix.Errno{unix.EOPNOTSUPP, unix.ENOENT, unix.ENODEV, unix.ENXIO, unix.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (f feature) finding(err error) Finding {
	x := Finding{Name: "kernel." + f.name, Status: OK, Evidence: "works"}
	var m *host.Missing
	switch {
	case errors.As(err, &m):
		x.Status, x.Evidence = f.status, m.Error()
		x.Remedy = fmt.Sprintf("a kernel with %s; without it %s", f.config, f.need)
	case err != nil:
		x.Status, x.Evidence = Unknown, err.Error()
	}
	return x
}

func features() []feature {
	all := linkFeatures()
	return append(append(all, qdiscFeatures()...), filterFeatures()...)
}

func named(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func linkFeatures() []feature {
	link := func(make func(base int) netlink.Link) func(int) error {
		return func(base int) error { return netlink.LinkAdd(make(base)) }
	}
	under := func(name string, base int) netlink.LinkAttrs {
		a := named(name)
		a.ParentIndex = base
		return a
	}
	return []feature{
		{"tap", "CONFIG_TUN", "no guest has a NIC", Problem, link(func(int) netlink.Link {
			return &netlink.Tuntap{LinkAttrs: named("tap0"), Mode: netlink.TUNTAP_MODE_TAP}
		})},
		{"bridge", "CONFIG_BRIDGE", "there are no virtual networks", Problem, link(func(int) netlink.Link {
			return &netlink.Bridge{LinkAttrs: named("bridge0")}
		})},
		{"macvtap", "CONFIG_MACVTAP", "NICs of type direct are refused", Warning, link(func(base int) netlink.Link {
			return &netlink.Macvtap{Macvlan: netlink.Macvlan{LinkAttrs: under("macvtap0", base), Mode: netlink.MACVLAN_MODE_BRIDGE}}
		})},
		{"veth", "CONFIG_VETH", "`make run` and `make test` cannot build their networks", Warning, link(func(int) netlink.Link {
			return &netlink.Veth{LinkAttrs: named("veth0"), PeerName: "veth1"}
		})},
		{"ifb", "CONFIG_IFB", "what guests send is not shaped", Warning, link(func(int) netlink.Link {
			return &netlink.Ifb{LinkAttrs: named("ifbx")}
		})},
		{"vlan", "CONFIG_VLAN_8021Q", "VLAN devices cannot be made", Warning, link(func(base int) netlink.Link {
			return &netlink.Vlan{LinkAttrs: under("vlan0", base), VlanId: 7, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
		})},
		{"bridge-vlan-filtering", "CONFIG_BRIDGE_VLAN_FILTERING", "VLAN tags of NICs on bridges are refused", Warning, link(func(int) netlink.Link {
			on := true
			return &netlink.Bridge{LinkAttrs: named("bridge1"), VlanFiltering: &on}
		})},
	}
}
