package lan

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Refuse says why a bridge cannot be made of a NIC, and what instead; nil when it can.
func Refuse(s *Seen, nic, bridge string) error {
	if err := refuseName(s, bridge); err != nil {
		return err
	}
	l := s.NIC.Link
	if l.Index == 0 {
		return fmt.Errorf("there is no link %s; %s", nic, s.instead())
	}
	switch {
	case l.Kind == "bridge":
		return fmt.Errorf("%s is a bridge itself: guests go on it as it is, with <interface type='bridge'><source bridge='%s'/></interface>", nic, nic)
	case l.Master != 0:
		return s.refusePort()
	case s.Device.Wireless:
		return fmt.Errorf("%s is Wi-Fi: an access point takes frames from its stations' own MAC addresses alone, so guests on a bridge, and on a macvtap too, would hear nothing; use a network with <forward mode='nat'/>, or <forward mode='route'/> with a route to it in your router, or bridge a wired NIC", nic)
	case !s.Device.Ethernet:
		return fmt.Errorf("%s carries no Ethernet, and a bridge forwards nothing else: use a network with <forward mode='nat'/> or mode='route'; %s", nic, s.instead())
	case slices.Contains([]string{"tun", "macvlan", "macvtap", "ipvlan", "ipvtap"}, l.Kind):
		return fmt.Errorf("%s is a %s, the end of a guest, a container or a tunnel, and no way to your LAN; %s", nic, l.Kind, s.instead())
	case !l.Up:
		return fmt.Errorf("%s is down: bring it up first (ip link set dev %s up), so that what it is given is known", nic, nic)
	}
	return s.refuseLoad()
}

// refuseName looks at the bridge's.
func refuseName(s *Seen, bridge string) error {
	switch l := s.Bridge.Link; {
	case bridge == "" || len(bridge) >= unix.IFNAMSIZ || strings.ContainsAny(bridge, "/:%& \t\n") || bridge == "." || bridge == ".." || bridge == "all" || bridge == "default":
		return fmt.Errorf("%q is no name for a link: it has 1 to %d characters, no slash, colon or blank; give another one with --name", bridge, unix.IFNAMSIZ-1)
	case l.Index != 0:
		kind := ""
		if l.Kind != "" {
			kind = ", a " + l.Kind
		}
		return fmt.Errorf("there is a link %s already%s; give another name with --name", bridge, kind)
	}
	return nil
}

func (s *Seen) refusePort() error {
	nic := s.NIC.Link.Name
	for _, m := range s.Links {
		if m.Index != s.NIC.Link.Master {
			continue
		}
		if m.Kind == "bridge" {
			return fmt.Errorf("%s is a port of the bridge %s already: put guests on that, with <interface type='bridge'><source bridge='%s'/></interface>", nic, m.Name, m.Name)
		}
		return fmt.Errorf("%s is a port of %s (%s): taproom net bridge %s makes a bridge of the whole", nic, m.Name, m.Kind, m.Name)
	}
	return fmt.Errorf("%s is a port of link %d; take it off there first", nic, s.NIC.Link.Master)
}

// refuseLoad looks at what hangs on the NIC.
func (s *Seen) refuseLoad() error {
	nic := s.NIC.Link
	for _, l := range s.Links {
		if l.Lower == nic.Index && slices.Contains([]string{"macvlan", "macvtap", "ipvlan", "ipvtap"}, l.Kind) {
			whose := ""
			if l.Alias != "" {
				whose = " (" + l.Alias + ")"
			}
			return fmt.Errorf("%s %s%s lies on %s, and the kernel gives a NIC's frames to that or to a bridge: stop the guest or container whose it is, or move it to a bridge", l.Kind, l.Name, whose, nic.Name)
		}
	}
	for _, r := range s.NIC.Routes {
		if r.Unknown != 0 {
			what := fmt.Sprintf("attribute %d", r.Unknown)
			switch r.Unknown {
			case rtaNexthopID:
				what = "a nexthop object"
			case unix.RTA_ENCAP, unix.RTA_ENCAP_TYPE:
				what = "an encapsulation"
			}
			return fmt.Errorf("the route to %s in table %d has %s, which taproom cannot hand on; make a plain route of it, or make the bridge yourself", r.To, r.Table, what)
		}
	}
	return nil
}

// instead lists what a bridge could be made of.
func (s *Seen) instead() string {
	names := Candidates(s.Links)
	if len(names) == 0 {
		return "no link here is one that a bridge can be made of"
	}
	return "a bridge can be made of " + strings.Join(names, ", ")
}

// Candidates are the links that may lead to a LAN, by what the kernel says of them.
func Candidates(links []host.Link) []string {
	var out []string
	for _, l := range links {
		plain := slices.Contains([]string{"", "veth", "bond", "team", "vlan", "hsr"}, l.Kind)
		if plain && l.Master == 0 && l.Up && l.MAC != "" && l.MAC != "00:00:00:00:00:00" {
			out = append(out, l.Name)
		}
	}
	return out
}

// rtaNexthopID is RTA_NH_ID (linux/rtnetlink.h).
const rtaNexthopID = 30
