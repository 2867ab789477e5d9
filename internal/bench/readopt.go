package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/spec"
)

// runReadopt measures how long a daemon that starts takes to have every guest that runs: from its exec to the first answer
// that lists them all. The daemon before was killed. The floor is one that starts where no guest runs.
func runReadopt(ctx context.Context, o Options) (r *Report, err error) {
	b := &manyBench{o: o}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	r = newReport("readopt")
	name := fmt.Sprintf("%s.%dx%d", o.Kind, o.Guests, crowdNICs)
	var contenders []Contender
	for i, build := range append(o.builds()[:1:1], o.builds()...) {
		own, err := startOwn(ctx, build.programs)
		if err != nil {
			return nil, err
		}
		s := &readoptSide{bench: b, own: own}
		defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
		if i == 0 {
			contenders = append(contenders, Contender{Name: "floor", Unit: "ms", Run: s.restart})
			continue
		}
		if err := s.fill(ctx, o.Guests); err != nil {
			return nil, err
		}
		contenders = append(contenders, Contender{Name: build.prefix + name, Unit: "ms", Run: s.restart})
		v, err := own.conn.Version(ctx)
		if err != nil {
			return nil, err
		}
		r.Host.QEMU = v.QEMU
	}
	all, skipped, err := Turns(ctx, o.Rounds, contenders, o.Progress)
	if err != nil {
		return nil, err
	}
	r.add(all, skipped...)
	return r, nil
}

// readoptSide is a daemon with its guests.
type readoptSide struct {
	bench  *manyBench
	own    *ownDaemon
	guests []remote.Domain
	links  [][]string // of each guest
}

// fill starts the guests.
func (s *readoptSide) fill(ctx context.Context, guests int) error {
	c := s.own.conn
	for i := range guests {
		d, err := c.DefineDomain(ctx, manyDocument(s.bench.o, fmt.Sprintf("crowd%d", i), 2+i, crowdNICs, s.bench.firmware))
		if err != nil {
			return err
		}
		s.guests = append(s.guests, d)
		if _, err := c.StartDomain(ctx, d, startPaused); err != nil {
			return err
		}
		links, err := s.linksOf(ctx, d)
		if err != nil {
			return err
		}
		s.links = append(s.links, links)
	}
	return nil
}

// linksOf are the names of a guest's links, as its document tells.
func (s *readoptSide) linksOf(ctx context.Context, d remote.Domain) ([]string, error) {
	xml, err := s.own.conn.DomainXML(ctx, d, 0)
	if err != nil {
		return nil, err
	}
	doc, err := spec.ParseDomain([]byte(xml))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, nic := range doc.Devices.Interfaces {
		if nic.Target == nil || nic.Target.Dev == "" {
			return nil, fmt.Errorf("domain '%s': its NIC %s is on no link", d.Name, nic.MAC.Address)
		}
		names = append(names, nic.Target.Dev)
	}
	return names, nil
}

// restart kills the daemon, and times the next one. That every NIC is still the one it was is looked at afterwards.
func (s *readoptSide) restart(ctx context.Context) (float64, error) {
	_ = s.own.conn.Close()
	if err := s.own.daemon.Kill(); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.own.start(ctx); err != nil {
		return 0, err
	}
	const active = 1 // VIR_CONNECT_LIST_DOMAINS_ACTIVE
	there, err := s.own.conn.Domains(ctx, active)
	if err != nil {
		return 0, err
	}
	took := milliseconds(time.Since(began))
	if len(there) != len(s.guests) {
		return 0, fmt.Errorf("the daemon has %d of %d guests after its restart", len(there), len(s.guests))
	}
	for i, d := range s.guests {
		links, err := s.linksOf(ctx, d)
		if err != nil {
			return 0, err
		}
		if !slices.Equal(links, s.links[i]) {
			return 0, fmt.Errorf("domain '%s' has the links %q after the daemon's restart, and had %q", d.Name, links, s.links[i])
		}
	}
	return took, nil
}

// close ends the guests and the daemon.
func (s *readoptSide) close(ctx context.Context) error {
	for _, d := range s.guests {
		_ = s.own.conn.DestroyDomain(ctx, d) // a daemon that died has none; its guests end with its cgroups
		_ = s.own.conn.UndefineDomain(ctx, d, 0)
	}
	return s.own.close(ctx)
}
