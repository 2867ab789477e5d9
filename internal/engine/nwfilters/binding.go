package nwfilters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/store"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/nwfilter/learn"
	"taproom/internal/spec"
)

// Use is what a NIC's document says of its filter.
type Use struct {
	Filter string  `json:"filter,omitempty"` // its name; "" is none
	Params []Param `json:"params,omitempty"`
	PinMAC bool    `json:"pin_mac,omitempty"` // the guest sends with its own address alone
}

// Param is one value of one variable.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// UseOf is what a reference says; nil is none.
func UseOf(ref *spec.FilterRef) Use {
	if ref == nil {
		return Use{}
	}
	u := Use{Filter: ref.Filter}
	for _, p := range ref.Params {
		u.Params = append(u.Params, Param{p.Name, p.Value})
	}
	return u
}

// None reports whether nothing is filtered.
func (u Use) None() bool { return u.Filter == "" && !u.PinMAC }

// Same reports whether two say the same.
func (u Use) Same(o Use) bool {
	return u.Filter == o.Filter && u.PinMAC == o.PinMAC && slices.Equal(u.Params, o.Params)
}

// Values are the values of a variable.
func (u Use) Values(name string) (out []string) {
	for _, p := range u.Params {
		if p.Name == name {
			out = append(out, p.Value)
		}
	}
	return out
}

// Binding is what one link of the host has.
type Binding struct {
	Use
	Port   string // the link
	Guest  string // the domain's name
	Owner  spec.UUID
	MAC    string // the NIC's
	Bridge string // what the link is on, for learning; "" is not known
	// Learned are the NIC's addresses that nobody wrote down but the guest's traffic showed.
	Learned []netip.Addr
	made    *spec.FilterBinding // by a client; nil is a guest's
}

// who names the NIC for messages.
func (b Binding) who() string {
	return fmt.Sprintf("NIC %s of domain '%s'", cmp.Or(b.Port, b.MAC), b.Guest) // before the link has a name, the address
}

// document is what a client sees of a binding.
func (b Binding) document() *spec.FilterBinding {
	if b.made != nil {
		return b.made
	}
	owner := b.Owner
	ref := &spec.FilterRef{Filter: b.Filter}
	for _, p := range b.Params {
		ref.Params = append(ref.Params, spec.FilterParam{Name: p.Name, Value: p.Value})
	}
	return &spec.FilterBinding{
		Owner: &spec.PortOwner{Name: b.Guest, UUID: &owner}, PortDev: &spec.NamedLink{Name: b.Port}, MAC: &spec.MAC{Address: b.MAC}, Ref: ref,
	}
}

// Bindings are all there are, ordered by port.
func (f *Filters) Bindings() []Binding {
	f.mu.RLock()
	defer f.mu.RUnlock()
	out := make([]Binding, 0, len(f.ports))
	for _, b := range f.ports {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Binding) int { return strings.Compare(a.Port, b.Port) })
	return out
}

// Bound is what a link has; ok is false for one that has nothing.
func (f *Filters) Bound(port string) (b Binding, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	b, ok = f.ports[port]
	return b, ok
}

// ListNWFilterBindings implements server.NWFilters. A NIC that has no filter but is pinned to its address has none.
func (f *Filters) ListNWFilterBindings() []server.NWFilterBinding {
	var out []server.NWFilterBinding
	for _, b := range f.Bindings() {
		if b.Filter != "" {
			out = append(out, server.NWFilterBinding{Port: b.Port, Filter: b.Filter})
		}
	}
	return out
}

// NWFilterBinding implements server.NWFilters.
func (f *Filters) NWFilterBinding(port string) (server.NWFilterBinding, error) {
	b, ok := f.Bound(port)
	if !ok || b.Filter == "" {
		return server.NWFilterBinding{}, server.NoNWFilterBinding(port)
	}
	return server.NWFilterBinding{Port: b.Port, Filter: b.Filter}, nil
}

// NWFilterBindingXML implements server.NWFilters.
func (f *Filters) NWFilterBindingXML(port string) (string, error) {
	b, ok := f.Bound(port)
	if !ok || b.Filter == "" {
		return "", server.NoNWFilterBinding(port)
	}
	return string(b.document().Format()), nil
}

// CreateNWFilterBinding implements server.NWFilters.
func (f *Filters) CreateNWFilterBinding(ctx context.Context, xml string, _ uint32) (server.NWFilterBinding, error) {
	doc, err := spec.ParseFilterBinding([]byte(xml))
	if err == nil {
		err = f.cfg.DocumentFits([]byte(xml))
	}
	if err == nil {
		err = doc.Validate()
	}
	if err != nil {
		return server.NWFilterBinding{}, err
	}
	b := bindingOf(doc)
	f.change.Lock()
	defer f.change.Unlock()
	if _, taken := f.Bound(b.Port); taken {
		return server.NWFilterBinding{}, virterr.New(virterr.OperationFailed, "binding '%s' already exists", b.Port).In(virterr.FromNWFilter)
	}
	if _, err := compile(f.compilers(), b); err != nil {
		return server.NWFilterBinding{}, about(b, err)
	}
	item := store.Item[head]{Key: b.Port, Head: head{Name: b.Port, UUID: b.Owner}, Doc: doc.Format()}
	if err := f.made.Put(item); err != nil {
		return server.NWFilterBinding{}, fmt.Errorf("write the binding of %s down: %w", b.Port, err)
	}
	if err := f.attach(ctx, []Binding{b}); err != nil {
		return server.NWFilterBinding{}, errors.Join(err, f.made.Delete(b.Port))
	}
	return server.NWFilterBinding{Port: b.Port, Filter: b.Filter}, nil
}

// bindingOf is what a client's document says.
func bindingOf(doc *spec.FilterBinding) Binding {
	return Binding{Use: UseOf(doc.Ref), Port: doc.PortDev.Name, Guest: doc.Owner.Name, Owner: *doc.Owner.UUID, MAC: doc.MAC.Address, made: doc}
}

// DeleteNWFilterBinding implements server.NWFilters.
func (f *Filters) DeleteNWFilterBinding(ctx context.Context, port string) error {
	f.change.Lock()
	defer f.change.Unlock()
	b, ok := f.Bound(port)
	switch {
	case !ok || b.Filter == "":
		return server.NoNWFilterBinding(port)
	case b.made == nil:
		return virterr.New(virterr.OperationInvalid, "the filter of %s is its document's and goes with it: take <filterref> out (virsh update-device), or detach the interface", b.who()).In(virterr.FromNWFilter)
	}
	if err := f.detach(ctx, []string{port}); err != nil {
		return virterr.New(virterr.OperationFailed, "take the filter off %s: %w", port, err).In(virterr.FromNWFilter)
	}
	return f.made.Delete(port)
}

// loadBindings reads what clients bound.
func (f *Filters) loadBindings() error {
	items, damaged, err := f.made.Load()
	if err != nil {
		return err
	}
	f.cfg.Damaged(damaged)
	for _, i := range items {
		doc, err := spec.ParseFilterBinding(i.Doc)
		if err == nil {
			err = doc.Validate()
		}
		if err != nil || doc.PortDev.Name != i.Key {
			f.cfg.Problem(fmt.Sprintf("the filter that a client bound to %s cannot be read; bind it again (virsh nwfilter-binding-create): %v", i.Key, err))
			continue
		}
		f.ports[i.Key] = bindingOf(doc)
	}
	return nil
}

// about says which NIC an error is of.
func about(b Binding, err error) error {
	return virterr.New(virterr.ConfigUnsupported, "%s: network filter '%s': %w", b.who(), b.Filter, err).In(virterr.FromNWFilter)
}

// Check reports why a NIC cannot have what it is to have; nothing is changed.
func (f *Filters) Check(b Binding) error {
	_, err := compile(f.compilers(), b)
	if err == nil && b.Filter != "" {
		_, err = b.learns(f.compilers())
	}
	if err != nil {
		return about(b, err)
	}
	return nil
}

// Compiled is the Program of a NIC that is not attached yet, without learned addresses.
func (f *Filters) Compiled(b Binding) (nwfilter.Port, error) {
	p, err := compile(f.compilers(), b)
	if err != nil {
		return nwfilter.Port{}, about(b, err)
	}
	return p, nil
}

// Learning is how the addresses of a link are learned; "" is not.
func (f *Filters) Learning(b Binding) string {
	if mode, err := b.learns(f.compilers()); err == nil && mode != learn.None {
		return string(mode)
	}
	return ""
}

// Made reports whether a client bound it to a link of its own.
func (b Binding) Made() bool { return b.made != nil }
