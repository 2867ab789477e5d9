package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
)

// networks are the questions about many networks.
func (b *addressBench) networks() []Contender {
	n := strconv.Itoa(b.o.Networks)
	var all []Contender
	for _, v := range b.sides {
		all = append(all, Contender{Name: v.prefix + "join", Unit: "ms", Run: v.join})
	}
	if p := b.peer; p != nil {
		all = append(all, Contender{Name: dnsmasqPrefix + "join", Unit: "ms", Optional: true, Run: func(ctx context.Context) (float64, error) {
			return p.joins.join(ctx, p.joinAsker)
		}})
	}
	for _, v := range b.sides {
		all = append(all, Contender{Name: v.prefix + "change", Unit: "ms", Run: v.change})
	}
	if p := b.peer; p != nil {
		all = append(all, Contender{Name: dnsmasqPrefix + "change", Unit: "ms", Optional: true, Run: func(ctx context.Context) (float64, error) {
			return p.plain.change(ctx, p.asker)
		}})
	}
	for _, v := range b.sides {
		all = append(all, Contender{Name: v.prefix + "rss." + n, Unit: "MB", Run: v.resident})
	}
	if p := b.peer; p != nil {
		all = append(all, Contender{Name: dnsmasqPrefix + "pss.network", Unit: "MB", Optional: true, Run: p.proportional})
	}
	return all
}

// answers are the questions of guests.
func (b *addressBench) answers() []Contender {
	all := []Contender{b.offers("floor.echo", b.floor.echo.once)}
	for _, v := range b.sides {
		all = append(all, b.offers(v.prefix+"offer", v.first.offer), b.offers(fmt.Sprintf("%soffer.%d", v.prefix, manyLeases), v.many.offer))
	}
	if p := b.peer; p != nil {
		// One that sends an echo request first takes three seconds each.
		all = append(
			all,
			Contender{Name: dnsmasqPrefix + "offer", Unit: "ms", Optional: true, Run: func(context.Context) (float64, error) { return p.boots.offer() }},
			optional(b.offers(dnsmasqPrefix+"noping.offer", p.bootsQuiet.offer)),
			optional(b.offers(fmt.Sprintf("%snoping.offer.%d", dnsmasqPrefix, manyLeases), p.bootsFull.offer)),
		)
	}
	all = append(all, rate("floor.udp", b.floor.asker, func() string { return cachedName }))
	for _, kind := range []string{"cached", "local", "forwarded"} {
		for _, v := range b.sides {
			all = append(all, rate(v.prefix+"dns."+kind, v.asker, v.asker.names(kind, v.places[0].network.DNS.Domain)))
		}
		if p := b.peer; p != nil {
			all = append(all, optional(rate(dnsmasqPrefix+"dns."+kind, p.asker, p.asker.names(kind, "net.test"))))
		}
	}
	for _, v := range b.sides {
		all = append(all, Contender{Name: v.prefix + "rss." + strconv.Itoa(b.o.Networks) + ".asked", Unit: "MB", Run: v.resident})
	}
	return all
}

// restarts are the questions to a helper that was killed.
func (b *addressBench) restarts() []Contender {
	var all []Contender
	for _, v := range b.sides {
		name := v.prefix + "restart." + strconv.Itoa(b.o.Networks)
		all = append(all, Contender{Name: name, Unit: "ms", Run: func(ctx context.Context) (float64, error) {
			first, last, err := v.restart(ctx)
			b.beside(name+".first", first)
			return last, err
		}})
	}
	return all
}

func optional(c Contender) Contender {
	c.Optional = true
	return c
}

// offers is a sample of many clients: the median, and beside it what one in a hundred waits longer than.
func (b *addressBench) offers(name string, once func() (float64, error)) Contender {
	return Contender{Name: name, Unit: "ms", Run: func(context.Context) (float64, error) {
		s, err := paced(offers, once)
		b.beside(name+".p99", s.p99)
		return s.median, err
	}}
}

func rate(name string, a *asker, next func() string) Contender {
	return Contender{Name: name, Unit: "1/s", Run: func(context.Context) (float64, error) { return a.rate(questions, next) }}
}

// names returns what a kind of figure asks for.
func (a *asker) names(kind, domain string) func() string {
	switch kind {
	case "cached":
		return func() string { return cachedName }
	case "local":
		return func() string { return localName + "." + domain }
	}
	return a.fresh
}

// addressFloor is what the way to a server and back takes.
type addressFloor struct {
	echo   *echo
	server *responder
	asker  *asker
}

func newAddressFloor(l *lan) (f *addressFloor, err error) {
	f = &addressFloor{}
	if f.echo, err = newEcho(l); err != nil {
		return nil, err
	}
	// The answer is made as a server upstream makes it: an echo with as many bytes as an answer has.
	if f.server, err = respond(netip.AddrPortFrom(l.server, 53), answer4); err == nil {
		f.asker, err = newAsker(l, f.server.at())
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *addressFloor) close() error {
	err := f.echo.close()
	if f.server != nil {
		err = errors.Join(err, f.server.close())
	}
	if f.asker != nil {
		err = errors.Join(err, f.asker.close())
	}
	return err
}
