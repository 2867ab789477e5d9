package dhcp6

import "net/netip"

const (
	// restSeconds is how long an address that a client found in use is left alone: ten minutes, as dnsmasq.
	restSeconds = 600
	// maxResting bounds how many do, so that a guest that declines whatever it gets does not use up memory.
	maxResting = 4096
)

// rest is the addresses that are left alone for a while, the first to come back in front.
type rest struct {
	until map[netip.Addr]int64
	order []resting // may hold what came back early
}

type resting struct {
	addr  netip.Addr
	until int64
}

func newRest() *rest { return &rest{until: map[netip.Addr]int64{}} }

func (r *rest) holds(a netip.Addr) bool { return r.until[a] != 0 }

func (r *rest) put(a netip.Addr, until int64) {
	r.until[a] = until
	r.order = append(r.order, resting{a, until})
}

func (r *rest) drop(a netip.Addr) { delete(r.until, a) }

// first returns the address that has rested longest.
func (r *rest) first() (resting, bool) {
	for len(r.order) > 0 {
		if o := r.order[0]; r.until[o.addr] == o.until {
			return o, true
		}
		r.order = r.order[1:]
	}
	return resting{}, false
}

// over takes out an address whose time has come, or that there is no more room for.
func (r *rest) over(now int64) (netip.Addr, bool) {
	o, ok := r.first()
	if !ok || o.until > now && len(r.order) <= maxResting {
		return netip.Addr{}, false
	}
	r.drop(o.addr)
	return o.addr, true
}
