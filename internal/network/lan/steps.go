package lan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taproom/internal/host"
)

// Step is one change. It prints as the command that does the same.
type Step interface {
	String() string
	apply(ctx context.Context, k *host.Kernel, links map[string]int) error
}

// Apply carries steps out, and says how long the switch took: from the first step to the last one that packets can notice.
// One that fails does not keep the others from being tried where onward is set: that is for the way back, on which every step
// that works helps.
func Apply(ctx context.Context, k *host.Kernel, s *Seen, steps []Step, onward bool) (time.Duration, error) {
	links := map[string]int{}
	for _, side := range []*Side{&s.NIC, &s.Bridge} {
		if side.Link.Index != 0 {
			links[side.Link.Name] = side.Link.Index
		}
	}
	var errs []error
	var took time.Duration
	var began time.Time
	for _, step := range steps {
		if began.IsZero() && noticed(step) {
			began = time.Now()
		}
		if err := step.apply(ctx, k, links); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step, err))
			if !onward {
				break
			}
		}
		if noticed(step) {
			took = time.Since(began)
		}
	}
	return took, errors.Join(errs...)
}

// noticed reports whether packets take another way after a step.
func noticed(s Step) bool {
	switch s.(type) {
	case enslave, release, delRoute, delRule, delAddress:
		return true
	}
	return false
}

type makeBridge struct {
	name, mac string
	mtu       int
}

func (s makeBridge) String() string {
	return fmt.Sprintf("ip link add name %s address %s mtu %d type bridge forward_delay 0 stp_state 0", s.name, s.mac, s.mtu)
}

func (s makeBridge) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	index, err := k.CreateBridge(host.BridgeSpec{Name: s.name, MAC: s.mac, MTU: s.mtu, LearnsLinkLocal: true})
	links[s.name] = index
	return err
}

type bringUp struct{ link string }

func (s bringUp) String() string { return "ip link set dev " + s.link + " up" }
func (s bringUp) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.SetUp(links[s.link], true)
}

type enslave struct{ nic, bridge string }

func (s enslave) String() string { return "ip link set dev " + s.nic + " master " + s.bridge }
func (s enslave) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.SetMaster(links[s.nic], links[s.bridge])
}

type release struct{ nic string }

func (s release) String() string { return "ip link set dev " + s.nic + " nomaster" }
func (s release) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.SetMaster(links[s.nic], 0)
}

type dropBridge struct{ name string }

func (s dropBridge) String() string { return "ip link delete dev " + s.name }
func (s dropBridge) apply(_ context.Context, k *host.Kernel, links map[string]int) error {
	return k.DeleteLink(links[s.name])
}

type set struct{ link, key, value string }

func (s set) String() string {
	return fmt.Sprintf("echo %s > /proc/sys/net/%s/conf/%s/%s", s.value, s.key[:4], s.link, s.key[5:])
}

func (s set) apply(_ context.Context, k *host.Kernel, _ map[string]int) error {
	return k.SetLinkConf(s.link, s.key, s.value)
}

// carrierWithin is how long a NIC may take until its bridge has a carrier: some go through a negotiation anew.
const carrierWithin = 10 * time.Second

// ErrNoCarrier says that the link did not come back.
var ErrNoCarrier = errors.New("its link did not come back")

// await waits until a NIC has a carrier, which some lose when they become a port, and its bridge sends.
type await struct{ nic, bridge string }

func (s await) String() string {
	return fmt.Sprintf("until ip -o link show dev %s | grep -q LOWER_UP && ip -o link show dev %s | grep -q 'LOWER_UP.* qdisc noqueue'; do sleep 0.01; done", s.nic, s.bridge)
}

func (s await) apply(ctx context.Context, k *host.Kernel, links map[string]int) error {
	w, err := k.WatchLinks()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, carrierWithin)
	defer cancel()
	over, end := context.WithCancel(ctx)
	var sends bool
	look := func() {
		nic, nerr := k.LinkState(links[s.nic])
		bridge, berr := k.LinkState(links[s.bridge])
		sends, err = nic.Carrier && bridge.Sends, errors.Join(nerr, berr)
		if err != nil || sends {
			end()
		}
	}
	look() // before the first change is told: it may have been one
	werr := w.Run(over, func([]host.LinkChange, bool) { look() })
	end()
	switch {
	case sends:
		return nil
	case err != nil || werr != nil:
		return errors.Join(err, werr)
	}
	return fmt.Errorf("waited %s for a carrier on %s: %w", carrierWithin, s.nic, ErrNoCarrier)
}
