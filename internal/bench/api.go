package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

// How often a call is made for one sample.
const (
	apiLists = 200
	apiInfos = 2000
)

const (
	apiGuest = `<domain type='qemu'><name>guest-%03d</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices><memballoon model='none'/></devices></domain>`
	apiDefined = "guest-000" // is asked for
	apiRunning = "guest-001" // is started, paused
)

// runAPI measures a daemon with many definitions: lists and small calls on the raw wire and through python3-libvirt, its
// memory, and how soon it answers after a restart; beside libvirtd and another build of taproom, asked in the same ways.
func runAPI(ctx context.Context, o Options) (r *Report, err error) {
	r = newReport("api")
	var sides []*apiSide
	for _, build := range o.builds() {
		d, err := startOwn(ctx, build.programs)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.close(ctx)) }()
		sides = append(sides, &apiSide{side: d, prefix: build.prefix, domains: o.Domains})
	}
	peer, skip := startLibvirt(ctx, o.Peers)
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
		sides = append(sides, &apiSide{side: peer, prefix: "peer.libvirt.", optional: true, domains: o.Domains})
	}
	for _, s := range sides {
		if err := s.define(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.destroy(context.WithoutCancel(ctx))) }()
	}
	// Restarts come last: what the other figures are taken of has run for a while.
	for _, contenders := range []func(*apiSide) []Contender{(*apiSide).calls, (*apiSide).restarts} {
		all, skipped, err := Turns(ctx, o.Rounds, alternating(sides, contenders), o.Progress)
		if err != nil {
			return nil, err
		}
		r.add(all, skipped...)
	}
	v, err := sides[0].client().Version(ctx)
	if err != nil {
		return nil, err
	}
	r.Host.QEMU = v.QEMU
	r.add(nil, skip...)
	return r, nil
}

// alternating asks each question of every side before the next question.
func alternating(sides []*apiSide, contenders func(*apiSide) []Contender) []Contender {
	var out []Contender
	for i := range contenders(sides[0]) {
		for _, s := range sides {
			c := contenders(s)[i]
			c.Optional = c.Optional || s.optional
			out = append(out, c)
		}
	}
	return out
}

// apiSide is a daemon and the questions to it.
type apiSide struct {
	side
	prefix   string // of figures
	optional bool   // a peer
	domains  int
	raw      *wire // nil until it is needed
}

func (s *apiSide) define(ctx context.Context) error {
	for i := range s.domains {
		if _, err := s.client().DefineDomain(ctx, fmt.Sprintf(apiGuest, i)); err != nil {
			return err
		}
	}
	return nil
}

// destroy stops the guest that was started. libvirtd gives a guest up when it comes back and finds it changed, so that it
// may be gone at any moment.
func (s *apiSide) destroy(ctx context.Context) error {
	s.hangUp()
	dom, err := s.client().Domain(ctx, apiRunning)
	if err != nil || dom.ID < 0 {
		return err
	}
	err = s.client().DestroyDomain(ctx, dom)
	if now, lerr := s.client().Domain(ctx, apiRunning); err != nil && lerr == nil && now.ID < 0 {
		return nil
	}
	return err
}

// calls are the questions to a daemon that has run for a while.
func (s *apiSide) calls() []Contender {
	list := "list." + strconv.Itoa(s.domains)
	return []Contender{
		{Name: s.prefix + list, Unit: "us", Run: s.list},
		{Name: s.prefix + list + ".python", Unit: "us", Run: s.python, Optional: true},
		{Name: s.prefix + "info", Unit: "1/s", Run: s.info},
		{Name: s.prefix + "info.running", Unit: "1/s", Run: s.infoRunning, Optional: true},
		{Name: s.prefix + "rss." + strconv.Itoa(s.domains), Unit: "MB", Run: s.resident},
	}
}

// restarts are the questions to a daemon that comes up.
func (s *apiSide) restarts() []Contender {
	return []Contender{
		{Name: s.prefix + "restart." + strconv.Itoa(s.domains), Unit: "ms", Run: s.restart},
		{Name: s.prefix + "rss." + strconv.Itoa(s.domains) + ".restarted", Unit: "MB", Run: s.resident},
	}
}

// wire returns the raw connection.
func (s *apiSide) wire() (*wire, error) {
	if s.raw != nil {
		return s.raw, nil
	}
	var err error
	s.raw, err = dialWire(s.socket())
	return s.raw, err
}

// hangUp closes the raw connection.
func (s *apiSide) hangUp() {
	if s.raw != nil {
		_ = s.raw.close()
		s.raw = nil
	}
}

// list is the mean time of a listAllDomains on the raw wire.
func (s *apiSide) list(context.Context) (float64, error) {
	w, err := s.wire()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	payload, err := w.ask(question{remote.ProcConnectListAllDomains, &remote.NeedFlags{Need: 1}}, apiLists)
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	var all remote.Domains
	if err := xdr.Decode(payload, &all); err != nil {
		return 0, err
	}
	return milliseconds(took) * 1000 / apiLists, s.complete(len(all.Domains))
}

func (s *apiSide) complete(listed int) error {
	if listed != s.domains {
		return fmt.Errorf("listed %d domains of %d", listed, s.domains)
	}
	return nil
}

// info is how many infos of a domain that does not run a second one connection gets on the raw wire.
func (s *apiSide) info(ctx context.Context) (float64, error) {
	dom, err := s.client().Domain(ctx, apiDefined)
	if err != nil {
		return 0, err
	}
	return s.infos(dom)
}

// infoRunning is the same of a domain that runs.
func (s *apiSide) infoRunning(ctx context.Context) (float64, error) {
	c := s.client()
	dom, err := c.Domain(ctx, apiRunning)
	if err != nil {
		return 0, err
	}
	if dom.ID < 0 {
		if dom, err = c.StartDomain(ctx, dom, startPaused); err != nil {
			return 0, err
		}
	}
	return s.infos(dom)
}

func (s *apiSide) infos(dom remote.Domain) (float64, error) {
	w, err := s.wire()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := w.ask(question{remote.ProcDomainGetInfo, &dom}, apiInfos); err != nil {
		return 0, err
	}
	return apiInfos / time.Since(began).Seconds(), nil
}

// restart is how long a daemon takes from its start until it has listed what is defined.
func (s *apiSide) restart(ctx context.Context) (float64, error) {
	s.hangUp()
	if err := s.stop(); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.start(ctx); err != nil {
		return 0, err
	}
	all, err := s.client().Domains(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("after a restart: %w", err)
	}
	return milliseconds(time.Since(began)), s.complete(len(all))
}

// resident is the memory of the daemon.
func (s *apiSide) resident(context.Context) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid()))
	if err != nil {
		return 0, err
	}
	return parseResident(string(b))
}

// parseResident reads the resident memory, in MB, out of /proc/PID/status.
func parseResident(status string) (float64, error) { return parseMemory(status, "VmRSS:") }

// parseMemory reads a line of the kernel's about memory, in MB.
func parseMemory(text, name string) (float64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("the process has ended: its status has no %s", strings.TrimSuffix(name, ":"))
}
