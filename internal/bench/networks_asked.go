package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"taproom/internal/sandbox"
)

const (
	// mostAsked are how many networks are asked; moving a guest from one bridge to the next takes as long as removing one.
	mostAsked = 20
	// mostAskedOfPeer is the same of dnsmasq, which takes three seconds for an offer.
	mostAskedOfPeer = 2
	// portOfGuest is the guest's cable, and cardOfGuest its other end.
	portOfGuest, cardOfGuest = "benchport", "benchcard"
)

// netAsker is a guest that is plugged into one network after the other, and asks for an address and a name.
type netAsker struct {
	guest *netns
	boots *bootClient
}

func newNetAsker(ctx context.Context) (*netAsker, error) {
	guest, err := newNetns()
	if err != nil {
		return nil, err
	}
	a := &netAsker{guest: guest}
	err = sandbox.IP(ctx, "link", "add", portOfGuest, "up", "type", "veth", "peer", "name", cardOfGuest, "netns", guest.path())
	if err == nil {
		err = guest.do(func() error {
			// It has the addresses that it is given, and takes none.
			for path, value := range map[string]string{"disable_ipv6": "0", "accept_ra": "0", "accept_dad": "0"} {
				if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+cardOfGuest+"/"+path, []byte(value), 0); err != nil {
					return err
				}
			}
			return sandbox.IP(ctx, "link", "set", cardOfGuest, "up")
		})
	}
	if err == nil {
		a.boots, err = newBootClient(&lan{card: cardOfGuest, guests: guest})
	}
	if err != nil {
		return nil, errors.Join(err, a.close(ctx))
	}
	return a, nil
}

// ask has networks answer: the first of n, the last, and those in between, unless they are many.
func (a *netAsker) ask(ctx context.Context, n int, peer bool) error {
	most := mostAsked
	if peer {
		most = mostAskedOfPeer
	}
	for _, i := range scattered(n, most) {
		if err := a.one(ctx, placeOf(i)); err != nil {
			return fmt.Errorf("the network on %s does not answer: %w", placeOf(i).bridge, err)
		}
	}
	return sandbox.IP(ctx, "link", "set", portOfGuest, "nomaster")
}

// scattered are at most so many numbers below n, the first and the last among them.
func scattered(n, most int) (out []int) {
	if n <= most {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	for i := range most {
		out = append(out, i*(n-1)/(most-1))
	}
	return out
}

// one has one network answer.
func (a *netAsker) one(ctx context.Context, p netPlace) error {
	if err := sandbox.IP(ctx, "link", "set", portOfGuest, "master", p.bridge); err != nil {
		return err
	}
	if err := await(ctx, func() error { return carries(p.bridge) }); err != nil {
		return err
	}
	if _, err := a.boots.offer(); err != nil {
		return err
	}
	return a.guest.do(func() error {
		// The network before had the same addresses on another bridge.
		if err := sandbox.IP(ctx, "neigh", "flush", "dev", cardOfGuest); err != nil {
			return err
		}
		for _, v := range []struct {
			own   netip.Prefix
			dns   netip.Addr
			nodad string
		}{{netip.PrefixFrom(p.four(2), 24), p.four(1), ""}, {netip.PrefixFrom(p.six(2), 64), p.six(1), "nodad"}} {
			add := []string{"addr", "add", v.own.String(), "dev", cardOfGuest}
			if v.nodad != "" {
				add = append(add, v.nodad)
			}
			if err := sandbox.IP(ctx, add...); err != nil {
				return err
			}
			err := lookedUp(netip.AddrPortFrom(v.dns, 53), localName+"."+p.domain)
			if err := errors.Join(err, sandbox.IP(ctx, "addr", "del", v.own.String(), "dev", cardOfGuest)); err != nil {
				return err
			}
		}
		return nil
	})
}

// carries says why a bridge, which had no port before, sends nothing yet: the kernel takes its carrier up some time.
func carries(bridge string) error {
	b, err := os.ReadFile("/sys/class/net/" + bridge + "/operstate")
	if state := strings.TrimSpace(string(b)); err == nil && state != "up" {
		return fmt.Errorf("%s is %s", bridge, state)
	}
	return err
}

// lookedUp asks a server for a name, in the namespace of the thread.
func lookedUp(server netip.AddrPort, name string) error {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(server))
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, 512)
	// As a resolver does it, again when a packet was lost.
	for deadline := time.Now().Add(offerWithin); ; {
		if _, err := c.Write(question4(buf[:0], 1, name)); err != nil {
			return fmt.Errorf("ask %s for %s: %w", server, name, err)
		}
		if err := c.SetReadDeadline(time.Now().Add(answerWithin)); err != nil {
			return err
		}
		n, err := c.Read(buf)
		if err == nil {
			if !answered(buf[:n]) {
				return fmt.Errorf("%s has no address for %s: % x", server, name, buf[:min(n, dnsHeader)])
			}
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("ask %s for %s: %w", server, name, err)
		}
	}
}

// close unplugs the guest for good.
func (a *netAsker) close(ctx context.Context) error {
	var errs []error
	if a.boots != nil {
		errs = append(errs, a.boots.cable.close(), sandbox.IP(ctx, "link", "delete", portOfGuest))
	}
	return errors.Join(append(errs, a.guest.close())...)
}
