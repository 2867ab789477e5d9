package state

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"taproom/internal/host"
)

// ForwardIPv6 is the setting that makes the host a router for IPv6.
const ForwardIPv6 = "net/ipv6/conf/all/forwarding"

func ipv6Path(link, setting string) string { return "net/ipv6/conf/" + link + "/" + setting }

func noIPv6Path(link string) string { return ipv6Path(link, "disable_ipv6") }

// noIPv6 reports whether a link has no IPv6. A kernel without IPv6, or an IPv6 that has left a link with a small MTU, has
// no such setting.
func noIPv6(k *host.Kernel, link string) (bool, error) {
	v, err := k.Sysctl(noIPv6Path(link))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return v == "1", err
}

type setting struct{ name, value string }

// static are the settings of Bridge.Static: no address made of the MAC, and neither routers nor prefixes of guests believed.
func static() []setting {
	return []setting{{"addr_gen_mode", "1"}, {"accept_ra", "0"}, {"autoconf", "0"}}
}

func isStatic(k *host.Kernel, link string) (bool, error) {
	for _, s := range static() {
		v, err := k.Sysctl(ipv6Path(link, s.name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil || v != s.value {
			return false, err
		}
	}
	return true, nil
}

// AsWanted reports whether the settings of a bridge are as they should be of which the kernel tells nothing when they change. A
// no is to be looked at: the bridge may be somebody else's, or not be there.
func AsWanted(k *host.Kernel, name string, want Bridge) bool {
	off, err := noIPv6(k, name)
	if err != nil || off != want.NoIPv6 {
		return false
	}
	if !want.Static || off {
		return !want.Static
	}
	quiet, err := isStatic(k, name)
	return err == nil && quiet
}

func (o *Observed) sysctls(e *Env, s Scope) error {
	for _, path := range s.Sysctls {
		v, err := e.Kernel.Sysctl(path)
		if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(path, "net/ipv6/") {
			return fmt.Errorf("this kernel has no IPv6 (is there ipv6.disable=1 in /proc/cmdline?); leave <ip family='ipv6'> out: %w", err)
		}
		if err != nil {
			return err
		}
		o.Sysctls[path] = v
	}
	if o.Sysctls[ForwardIPv6] == "0" {
		return o.advertised(e)
	}
	return nil
}

// advertised finds the links whose routes would go. Where accept_ra is 0 they are of a program that listens by itself
// (NetworkManager, systemd-networkd), and the kernel leaves them alone; with 2 it does too.
func (o *Observed) advertised(e *Env) error {
	routes, err := e.Kernel.Routes()
	if err != nil && !errors.Is(err, host.ErrPartial) {
		return err
	}
	seen := map[int]bool{}
	for _, r := range routes {
		if !r.Advertised || seen[r.Link] {
			continue
		}
		seen[r.Link] = true
		l, err := e.Kernel.LinkByIndex(r.Link)
		if errors.Is(err, host.ErrNoLink) {
			continue
		}
		if err != nil {
			return err
		}
		v, err := e.Kernel.Sysctl(ipv6Path(l.Name, "accept_ra"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if v == "1" {
			o.Advertised = append(o.Advertised, l.Name)
		}
	}
	slices.Sort(o.Advertised)
	return nil
}

// keepRoutes comes before a setting that would cost the host its way out: when forwarding begins, the kernel purges the
// routes it was told of and believes no more routers, on every link whose accept_ra is not 2 (addrconf_fixup_forwarding).
func (d *differ) keepRoutes(path string) Plan {
	var p Plan
	if path != ForwardIPv6 || d.want.Sysctls[path] != "1" {
		return nil
	}
	for _, link := range d.old.Advertised {
		p = append(p, SetSysctl{Path: ipv6Path(link, "accept_ra"), Value: "2", Old: "1"})
	}
	return p
}
