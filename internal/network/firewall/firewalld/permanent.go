package firewalld

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"taproom/internal/host/sysbus"
)

// Record keeps which bridges were put into firewalld's permanent configuration, over the daemon's end and the machine's.
type Record interface {
	Load() ([]string, error)
	Save(bridges []string) error
}

// quietFor is how long nothing may change before the permanent configuration is written: firewalld writes a file for it, which
// no start of a network waits for, and for many that start one after the other once.
const quietFor = 300 * time.Millisecond

// permanentAgain is after what time it is tried again to write it, at first, and permanentAtMost at last: some permanent
// configurations cannot be written for as long as the machine runs.
const (
	permanentAgain  = 10 * time.Second
	permanentAtMost = 10 * time.Minute
)

// changed has the permanent configuration follow what there is now.
func (b *Backend) changed() {
	select {
	case b.stirred <- struct{}{}:
	default: // it will
	}
}

// KeepPermanent lets the permanent configuration follow until ctx is done: without it, what is there stays. It is to begin when
// what starts with the machine has been started, else it takes bridges out first that come a moment later. What cannot be
// written is bound at run time all the same, and after the next reload, as long as there is a daemon.
func (b *Backend) KeepPermanent(ctx context.Context) {
	if b.cfg.Record == nil {
		return
	}
	b.changed()
	var again <-chan time.Time
	pause := permanentAgain
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.stirred:
		case <-again:
		}
		for quiet := false; !quiet; {
			select {
			case <-ctx.Done():
				return
			case <-b.stirred:
			case <-time.After(quietFor):
				quiet = true
			}
		}
		err := b.writePermanent(ctx)
		if errors.Is(err, errAbsent) {
			err = nil // Watch tells when it comes
		}
		again = nil
		if err == nil {
			pause = permanentAgain
		} else {
			again = time.After(pause)
			pause = min(2*pause, permanentAtMost)
		}
		b.mu.Lock()
		b.fleeting = err
		b.mu.Unlock()
	}
}

// Fleeting is why bridges are not in our zone of the permanent configuration; nil when they are, or firewalld does not run.
func (b *Backend) Fleeting() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fleeting
}

// writePermanent makes our zone of the permanent configuration have the bridges that it has now, so that they are in it when
// firewalld begins anew, before anybody can tell it. What others put there stays.
func (b *Backend) writePermanent(ctx context.Context) error {
	below, err := b.below.Observe(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	want := bridgesOf(below)
	maps.Copy(want, b.zoned())
	maps.DeleteFunc(want, func(link string, _ bool) bool { return b.want(link) != Zone })
	b.mu.Unlock()
	had, err := b.cfg.Record.Load()
	if err != nil {
		return err
	}
	return b.bus.talk(ctx, b.change, func(ctx context.Context, s *session) error {
		zone, err := s.permanentZone(ctx)
		if zone == "" || err != nil {
			return err
		}
		next, err := s.compare(ctx, zone, had, want)
		if err != nil {
			return err
		}
		if next.differs { // what will be ours is written down before, and what was, until it is gone
			if err := b.cfg.Record.Save(union(had, next.ours)); err != nil {
				return err
			}
			if err := s.setPermanent(ctx, zone, next.all); err != nil {
				return err
			}
		}
		if !slices.Equal(had, next.ours) {
			if err := b.cfg.Record.Save(next.ours); err != nil {
				return err
			}
		}
		return b.leave(ctx, s, slices.DeleteFunc(had, func(link string) bool { return want[link] }))
	})
}

// zoned are the bridges that should be in our zone. It is called with mu held.
func (b *Backend) zoned() map[string]bool {
	out := map[string]bool{}
	for link, zone := range b.wants {
		if zone == Zone {
			out[link] = true
		}
	}
	return out
}

// leave takes bridges out of our zone that a reload put back into it although their networks have gone. A network that begins
// meanwhile may have seen its bridge there, or been told that it is, so that is bound again.
func (b *Backend) leave(ctx context.Context, s *session, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	bound, err := s.bindings(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	gone = slices.DeleteFunc(gone, func(link string) bool { return bound[link] != Zone || b.wants[link] != "" || b.ahead[link] != "" })
	b.mu.Unlock()
	for len(gone) > 0 {
		err := b.unbind(ctx, s, gone)
		back := b.wanted(gone)
		if err := errors.Join(err, b.bind(ctx, s, back)); err != nil {
			return err
		}
		gone = slices.DeleteFunc(slices.Collect(maps.Keys(back)), func(link string) bool { return len(b.wanted([]string{link})) > 0 })
	}
	return nil
}

// wanted are those of links that should be in a zone now, and in which.
func (b *Backend) wanted(links []string) map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]string{}
	for _, link := range links {
		if zone := cmp.Or(b.ahead[link], b.wants[link]); zone != "" {
			out[link] = zone
		}
	}
	return out
}

// permanent is what our zone should have.
type permanent struct {
	all     []string // its links
	ours    []string // those of them that are there because of us
	differs bool     // from what it has
}

// compare says what our zone of the permanent configuration should have. A bridge that an administrator has put into another
// zone there stays in that.
func (s *session) compare(ctx context.Context, zone string, had []string, want map[string]bool) (permanent, error) {
	elsewhere, err := s.inOtherZones(ctx, zone)
	if err != nil {
		return permanent{}, err
	}
	has, err := s.permanentLinks(ctx, zone) // last, as all of it is written soon
	if err != nil {
		return permanent{}, err
	}
	var p permanent
	for _, link := range has {
		if ours := slices.Contains(had, link); ours && !want[link] {
			p.differs = true
			continue
		} else if ours {
			p.ours = append(p.ours, link)
		}
		p.all = append(p.all, link)
	}
	for _, link := range slices.Sorted(maps.Keys(want)) {
		if !slices.Contains(has, link) && !elsewhere[link] {
			p.all, p.ours, p.differs = append(p.all, link), append(p.ours, link), true
		}
	}
	slices.Sort(p.ours)
	return p, nil
}

// inOtherZones are the links that the permanent configuration has in zones beside one. There are some ten zones, and may be a
// thousand links to ask about.
func (s *session) inOtherZones(ctx context.Context, zone string) (map[string]bool, error) {
	var zones []string
	if err := s.send(ctx, sysbus.Call{Name: s.owner, Path: configPath, Method: busName + ".config.listZones"}, &zones); err != nil {
		return nil, fmt.Errorf("list the zones of firewalld's permanent configuration: %w", err)
	}
	out := map[string]bool{}
	for _, other := range zones {
		if other == zone {
			continue
		}
		links, err := s.permanentLinks(ctx, other)
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			out[link] = true
		}
	}
	return out, nil
}

// permanentLinks are the links of a zone, by its object, in the permanent configuration.
func (s *session) permanentLinks(ctx context.Context, zone string) (links []string, err error) {
	err = s.send(ctx, sysbus.Call{Name: s.owner, Path: zone, Method: busName + ".config.zone.getInterfaces"}, &links)
	if err != nil {
		err = fmt.Errorf("read the links of %s of firewalld's permanent configuration: %w", zone, err)
	}
	return links, err
}

// permanentZone is the object of our zone in the permanent configuration; "" when there is none.
func (s *session) permanentZone(ctx context.Context) (string, error) {
	var path string
	err := s.send(ctx, sysbus.Call{Name: s.owner, Path: configPath, Method: busName + ".config.getZoneByName", Args: []any{Zone}}, &path)
	if refused(err, "INVALID_ZONE") {
		return "", nil
	}
	return path, err
}

func (s *session) setPermanent(ctx context.Context, zone string, links []string) error {
	if links == nil {
		links = []string{}
	}
	err := s.send(ctx, sysbus.Call{Name: s.owner, Path: zone, Method: busName + ".config.zone.setInterfaces", Args: []any{links}})
	if err != nil {
		return fmt.Errorf("put bridges into zone %s of firewalld's permanent configuration: %w", Zone, err)
	}
	return nil
}

// union is what is in either, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
