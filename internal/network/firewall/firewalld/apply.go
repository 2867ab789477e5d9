package firewalld

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/network/firewall"
)

// Apply changes the rules below in one transaction, and then the zones of the bridges that it is about. Without firewalld
// these are only remembered. A bridge that cannot be taken out of its zone stays there, and Trouble tells why.
func (b *Backend) Apply(ctx context.Context, add, del []firewall.Element) error {
	del = b.whole(add, del)
	add = slices.DeleteFunc(slices.Clone(add), func(e firewall.Element) bool { return slices.Contains(del, e) })
	addBelow, addZones := split(add)
	delBelow, delZones := split(del)
	var failed error
	if len(addBelow)+len(delBelow) > 0 {
		failed = b.below.Apply(ctx, addBelow, delBelow)
	}
	if failed != nil { // whatever happened, the zones go with what is there now
		doubt := bridgesOf(slices.Concat(addBelow, delBelow))
		b.forget(doubt)
		return errors.Join(failed, b.settle(context.WithoutCancel(ctx), nil, doubt))
	}
	bind, doubt := b.remember(bridgesOf(addBelow), bridgesOf(delBelow), addZones, delZones)
	return b.settle(ctx, bind, doubt)
}

// Rebind puts bridges that are not in their zone there, and changes no rule. Without firewalld it does nothing.
func (b *Backend) Rebind(ctx context.Context) error {
	if _, err := b.Observe(ctx); err != nil {
		return err
	}
	bind := map[string]string{}
	b.mu.Lock()
	trouble := b.trouble
	for e := range b.missing {
		link, _, _ := strings.Cut(e.Key, between)
		bind[link] = b.want(link)
	}
	b.mu.Unlock()
	if trouble != nil {
		return trouble
	}
	return b.settle(ctx, bind, nil)
}

// settle binds bridges, and those in doubt too when they are still ours or should be in a zone for another reason; the others
// are taken out of their zones.
func (b *Backend) settle(ctx context.Context, bind map[string]string, doubt map[string]bool) error {
	if len(bind)+len(doubt) == 0 {
		return nil
	}
	within := b.change
	if len(bind) == 0 {
		within = b.ask // nobody needs it as much
	}
	var below error
	err := b.bus.talk(ctx, within, func(ctx context.Context, s *session) error {
		var more map[string]string
		var unbind []string
		if more, unbind, below = b.decide(ctx, doubt); below != nil {
			return below
		}
		maps.Copy(more, bind)
		if err := s.prepareFor(ctx, more); err != nil {
			return err
		}
		return errors.Join(b.bind(ctx, s, more), b.unbind(ctx, s, unbind))
	})
	switch {
	case below != nil:
		return below
	case errors.Is(err, errAbsent):
		return nil
	case err != nil && len(bind) == 0 && ctx.Err() == nil: // what is there without a reason does no harm
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trouble = err
		return nil
	}
	return err
}

// decide says what becomes of those in doubt.
func (b *Backend) decide(ctx context.Context, doubt map[string]bool) (bind map[string]string, unbind []string, err error) {
	bind = map[string]string{}
	if len(doubt) == 0 {
		return bind, nil, nil
	}
	below, err := b.below.Observe(ctx)
	if err != nil {
		return nil, nil, err
	}
	bridges := bridgesOf(below)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, link := range slices.Sorted(maps.Keys(doubt)) {
		if _, wanted := b.wants[link]; !wanted && !bridges[link] {
			unbind = append(unbind, link)
			continue
		}
		b.wants[link] = b.want(link)
		bind[link] = b.wants[link]
	}
	return bind, unbind, nil
}

// forget drops what follows from the rules below alone.
func (b *Backend) forget(links map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.changed()
	maps.DeleteFunc(b.wants, func(link, zone string) bool { return links[link] && zone == Zone })
}

// whole adds to what goes what was not in force and so is not named: with the last of a bridge that a network has, the bridge
// is none of ours any more.
func (b *Backend) whole(add, del []firewall.Element) []firewall.Element {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(del)
	for _, e := range del {
		link, _, _ := strings.Cut(e.Key, between)
		if family, ok := strings.CutSuffix(e.Set, "same"); ok {
			for _, gone := range []firewall.Element{{Set: family + "bridges", Key: link}, Asked(link, b.wants[link])} {
				if b.missing[gone] && !slices.Contains(add, gone) && !slices.Contains(out, gone) {
					out = append(out, gone)
				}
			}
		}
	}
	return out
}

// remember notes what bridges should be in which zone. It returns those to be bound, and those of which it has to be seen
// whether they are still bridges of ours.
func (b *Backend) remember(add, del map[string]bool, addZones, delZones map[string]string) (bind map[string]string, doubt map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.changed()
	bind, doubt = map[string]string{}, map[string]bool{}
	for link, zone := range delZones {
		doubt[link] = true
		if b.wants[link] == zone {
			delete(b.wants, link)
		}
	}
	for link := range del {
		doubt[link] = true
	}
	maps.DeleteFunc(b.wants, func(link, zone string) bool { return del[link] && zone == Zone })
	maps.Copy(b.wants, addZones)
	for link := range add {
		if b.missing[Asked(link, b.wants[link])] && addZones[link] == "" { // nobody asks for that zone any more
			delete(b.wants, link)
		}
		b.wants[link] = b.want(link)
		bind[link] = b.wants[link]
	}
	for link, zone := range addZones {
		bind[link] = zone
	}
	maps.DeleteFunc(doubt, func(link string, _ bool) bool { return bind[link] != "" })
	return b.unbound(bind), doubt
}

// Render returns what the backend below does, and where firewalld ran when it was looked at last, the commands for the
// zones.
func (b *Backend) Render(add, del []firewall.Element) []string {
	del = b.whole(add, del)
	add = slices.DeleteFunc(slices.Clone(add), func(e firewall.Element) bool { return slices.Contains(del, e) })
	addBelow, addZones := split(add)
	delBelow, delZones := split(del)
	out := b.below.Render(addBelow, delBelow)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.running {
		return out
	}
	bind := maps.Clone(addZones)
	for link := range bridgesOf(addBelow) {
		if bind[link] == "" {
			bind[link] = b.want(link)
		}
	}
	for _, link := range slices.Sorted(maps.Keys(bind)) {
		out = append(out, fmt.Sprintf("firewall-cmd --zone=%s --change-interface=%s", bind[link], link))
	}
	gone := bridgesOf(delBelow)
	for link := range delZones {
		gone[link] = true
	}
	for _, link := range slices.Sorted(maps.Keys(gone)) {
		if bind[link] == "" {
			out = append(out, fmt.Sprintf("! firewall-cmd --get-zone-of-interface=%[1]s >/dev/null 2>&1 || firewall-cmd --remove-interface=%[1]s", link))
		}
	}
	return out
}
