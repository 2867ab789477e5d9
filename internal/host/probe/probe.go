// Package probe says what the kernel can do by trying it, in a network namespace that is thrown away.
//
// An answer is one of three: it works (nil), this kernel has no such thing (*host.Missing, which names the configuration
// option), or the attempt failed for a reason that proves nothing (any other error). Trying a feature may make the kernel
// load its module.
package probe

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Feature is something that networks, NICs or limits are made of.
type Feature struct {
	Name   string // "act_police"
	Config string // "CONFIG_NET_ACT_POLICE"
	Need   string // what happens without it, for people
	Vital  bool   // without it there are no networks at all

	try func(base int) error
}

// Result is what came of trying a Feature.
type Result struct {
	Feature Feature
	Err     error // nil, *host.Missing, or an error that proves nothing
}

// Features tries them all, in one namespace. An error means that none could be tried.
func Features(k *host.Kernel) ([]Result, error) {
	k.Step("probe features")
	var out []Result
	err := Throwaway(func() error {
		for i, f := range features() {
			out = append(out, Result{f, f.attempt(fmt.Sprintf("base%d", i))})
		}
		return nil
	})
	return out, err
}

// attempt gives each feature a link of its own, a veth or else lo, so that what one leaves behind is not in another's way.
func (f Feature) attempt(name string) error {
	base := 1 // lo
	v := &netlink.Veth{LinkAttrs: named(name), PeerName: name + "p"}
	if err := netlink.LinkAdd(v); err == nil {
		base = v.Index
	}
	err := f.try(base)
	if missing(err) {
		return &host.Missing{What: f.Name, Config: f.Config, Err: err}
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

func features() []Feature {
	return append(append(linkFeatures(), qdiscFeatures()...), filterFeatures()...)
}
