package vnetd

import (
	"context"
	"net/netip"

	"taproom/internal/network/helper"
	"taproom/internal/network/proxy"
)

// maxCarried is how many connections and sessions lead from the loopback to guests of all networks at a time. Each takes
// two descriptors.
const maxCarried = 8192

// ports are those of the loopback that lead to guests of one network.
type ports struct {
	proxy  *proxy.Server
	listen voice
}

// lead makes them be as a configuration says. What is under way goes on, also where other ports are listened on.
func (p *ports) lead(t *networks, c helper.Network, h held) {
	if len(c.Forwards) == 0 {
		p.close()
		return
	}
	to := map[proxy.At]netip.AddrPort{}
	for _, f := range c.Forwards {
		to[proxy.At{Protocol: f.Protocol, Addr: f.Listen}] = f.To
	}
	if p.proxy == nil {
		p.proxy = proxy.New(t.ctx, proxy.Options{Total: t.carried})
	}
	server := p.proxy
	server.Lead(to)
	udp, tcp, on := h.sockets(helper.DescForward)
	p.listen.be(t, on, func(ctx context.Context) error { return server.Serve(ctx, proxy.Sockets{UDP: udp, TCP: tcp}) })
}

// close ends them, and what is under way.
func (p *ports) close() {
	p.listen.end()
	if p.proxy != nil {
		p.proxy.Close()
		p.proxy = nil
	}
}
