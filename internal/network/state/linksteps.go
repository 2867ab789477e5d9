package state

import (
	"context"
	"errors"
	"net/netip"
	"strconv"

	"taproom/internal/host"
)

// creates is what most steps embed: they remove nothing.
type creates struct{}

// Deletes reports that nothing is removed.
func (creates) Deletes() bool { return false }

// target is a link a step is about: one that was seen, with its index, or one an earlier step makes, without.
type target struct {
	Name  string
	Index int
}

// ofHeld is a step on a tap that goes when its guest ends: by then it may have.
type ofHeld struct {
	Step
	link target
}

// Apply implements Step.
func (s ofHeld) Apply(ctx context.Context, r *Run) error {
	err := s.Step.Apply(ctx, r)
	if err == nil {
		return nil
	}
	if _, lerr := r.Kernel.LinkByIndex(s.link.Index); errors.Is(lerr, host.ErrNoLink) {
		return nil
	}
	return err
}

// AddBridge makes a bridge, down and without its owner's label.
type AddBridge struct {
	creates
	Spec host.BridgeSpec
}

// String implements Step.
func (s AddBridge) String() string {
	words := []string{"ip", "link", "add", "name", s.Spec.Name}
	if s.Spec.MAC != "" {
		words = append(words, "address", s.Spec.MAC)
	}
	if s.Spec.MTU != 0 {
		words = append(words, "mtu", strconv.Itoa(s.Spec.MTU))
	}
	words = append(words, "group", strconv.FormatUint(uint64(s.Spec.Group), 10), "type", "bridge")
	return shell(append(words, bridgeWords(s.Spec.STP, s.Spec.Delay)...)...)
}

// bridgeWords are what a bridge of ours has. It learns nothing from frames that it passes on to nobody.
func bridgeWords(stp bool, delay int) []string {
	state := "0"
	if stp {
		state = "1"
	}
	return []string{"forward_delay", strconv.Itoa(delay), "stp_state", state, "no_linklocal_learn", "1"}
}

// Apply implements Step.
func (s AddBridge) Apply(_ context.Context, r *Run) error {
	index, err := r.Kernel.CreateBridge(s.Spec)
	if err == nil {
		r.made[s.Spec.Name] = index
	}
	return taken(s.Spec.Name, err)
}

// taken makes a name that was taken since the observation a ForeignError; it stays a host.ErrTaken.
func taken(name string, err error) error {
	if errors.Is(err, host.ErrTaken) {
		return errors.Join(&ForeignError{Name: name, Why: "exists already"}, err)
	}
	return err
}

// AddTap makes a tap, down and without label. Its descriptors are in Env.Taps afterwards.
type AddTap struct {
	creates
	Spec host.TapSpec
}

// String implements Step.
func (s AddTap) String() string {
	words := []string{"ip", "tuntap", "add", "dev", s.Spec.Name, "mode", "tap"}
	if s.Spec.VNetHdr {
		words = append(words, "vnet_hdr")
	}
	if s.Spec.Queues > 1 {
		words = append(words, "multi_queue")
	}
	return shell(words...) + " # without a shell: descriptors for the guest, and gone with them"
}

// Apply implements Step.
func (s AddTap) Apply(_ context.Context, r *Run) error {
	t, err := r.Kernel.CreateTap(s.Spec)
	if err != nil {
		return taken(s.Spec.Name, err)
	}
	// One of that name that somebody else removed is dead: its descriptors lead nowhere.
	if err := r.dropTap(s.Spec.Name); err != nil {
		return errors.Join(err, t.Close())
	}
	if r.Taps == nil {
		r.Taps = map[string]*host.Tap{}
	}
	r.Taps[s.Spec.Name], r.made[s.Spec.Name] = t, t.Index
	return nil
}

func (s AddTap) about() string { return s.Spec.Name }

// SetAlias labels a link with its owner.
type SetAlias struct {
	creates
	Link  target
	Alias string
}

// String implements Step.
func (s SetAlias) String() string {
	return shell("ip", "link", "set", "dev", s.Link.Name, "alias", s.Alias)
}

// Apply implements Step.
func (s SetAlias) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s SetAlias) send(p *host.Pipeline, r *Run, done func(error)) {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		done(err)
		return
	}
	p.SetAlias(i, s.Alias, done)
}

func (s SetAlias) about() string { return s.Link.Name }

// SetLink changes several settings of a link by one message.
type SetLink struct {
	creates
	Link     target
	Settings host.LinkSettings // without Master
	Master   target            // the bridge it becomes a port of; no name leaves that alone
}

// String implements Step.
func (s SetLink) String() string {
	words := []string{"ip", "link", "set", "dev", s.Link.Name}
	if s.Settings.Group != 0 {
		words = append(words, "group", strconv.FormatUint(uint64(s.Settings.Group), 10))
	}
	if s.Settings.MAC != "" {
		words = append(words, "address", s.Settings.MAC)
	}
	if s.Settings.MTU != 0 {
		words = append(words, "mtu", strconv.Itoa(s.Settings.MTU))
	}
	if s.Master.Name != "" {
		words = append(words, "master", s.Master.Name)
	}
	if s.Settings.AllMulticast {
		words = append(words, "allmulticast", "on")
	}
	if s.Settings.Up {
		words = append(words, "up")
	}
	return shell(words...)
}

// Apply implements Step.
func (s SetLink) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s SetLink) send(p *host.Pipeline, r *Run, done func(error)) {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err == nil && s.Master.Name != "" {
		s.Settings.Master, err = r.lookup(s.Master)
	}
	if err != nil {
		done(err)
		return
	}
	p.SetLink(i, s.Settings, func(err error) { done(full(s.Master.Name, err)) })
}

func (s SetLink) about() string { return s.Link.Name }

// NoQueue lets a new tap come up without a queue before its own.
type NoQueue struct {
	creates
	Link target
}

// String implements Step.
func (s NoQueue) String() string {
	return shell("tc", "qdisc", "replace", "dev", s.Link.Name, "root", "noqueue")
}

// Apply implements Step.
func (s NoQueue) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s NoQueue) send(p *host.Pipeline, r *Run, done func(error)) {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		done(err)
		return
	}
	p.NoQueue(i, done)
}

func (s NoQueue) about() string { return s.Link.Name }

// Detach takes a port off its bridge.
type Detach struct {
	creates
	Link target
}

// String implements Step.
func (s Detach) String() string { return shell("ip", "link", "set", "dev", s.Link.Name, "nomaster") }

// Apply implements Step.
func (s Detach) Apply(_ context.Context, r *Run) error { return r.Kernel.SetMaster(s.Link.Index, 0) }

// SetDown brings a link down.
type SetDown struct {
	creates
	Link target
}

// String implements Step.
func (s SetDown) String() string { return shell("ip", "link", "set", "dev", s.Link.Name, "down") }

// Apply implements Step.
func (s SetDown) Apply(_ context.Context, r *Run) error { return r.Kernel.SetUp(s.Link.Index, false) }

// SetBridge changes the spanning tree settings of a bridge.
type SetBridge struct {
	creates
	Link target
	To   host.Bridge
}

// String implements Step.
func (s SetBridge) String() string {
	words := []string{"ip", "link", "set", "dev", s.Link.Name, "type", "bridge"}
	return shell(append(words, bridgeWords(s.To.STP, s.To.Delay)...)...)
}

// Apply implements Step.
func (s SetBridge) Apply(_ context.Context, r *Run) error {
	return r.Kernel.SetBridge(s.Link.Index, s.To)
}

// AddAddress gives a link an address.
type AddAddress struct {
	creates
	Link    target
	Address netip.Prefix
	Again   bool // it may be there, or may have gone with another one
}

// String implements Step.
func (s AddAddress) String() string {
	verb := "add"
	if s.Again {
		verb = "replace"
	}
	words := []string{"ip", "address", verb, s.Address.String()}
	if s.Address.Addr().Is4() && s.Address.Bits() < 31 {
		words = append(words, "broadcast", "+")
	}
	words = append(words, "dev", s.Link.Name)
	if s.Address.Addr().Is6() {
		words = append(words, "nodad")
	}
	return shell(words...)
}

// Apply implements Step.
func (s AddAddress) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s AddAddress) send(p *host.Pipeline, r *Run, done func(error)) {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		done(err)
		return
	}
	p.AddAddress(i, s.Address, done)
}

// DelAddress takes an address off a link.
type DelAddress struct {
	Link    target
	Address netip.Prefix
}

// Deletes implements Step.
func (DelAddress) Deletes() bool { return true }

// String implements Step.
func (s DelAddress) String() string {
	return shell("ip", "address", "delete", s.Address.String(), "dev", s.Link.Name)
}

// Apply implements Step.
func (s DelAddress) Apply(_ context.Context, r *Run) error {
	return r.Kernel.DelAddress(s.Link.Index, s.Address)
}
