package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/host/nft"
)

// netSide is a daemon with its rules in one place, or a peer. It runs in its turns only: nobody else's links and rules are
// its business.
type netSide struct {
	prefix    string
	bench     *networkBench
	program   string     // that runs our daemon
	settings  string     // of our daemon
	firewalld *firewalld // beside it; nil: none
	peer      *peerLibvirt

	daemon side // nil: it was never up
	end    func(context.Context) error
	isUp   bool
	group  uint32   // of our daemon's links
	names  []string // of series, in their order
	series map[string][]float64
}

// besideFloor begins the figures of what is below a side alone.
const besideFloor = "floor."

func newNetSide(prefix string, b *networkBench) *netSide {
	return &netSide{prefix: prefix, bench: b, series: map[string][]float64{}}
}

// figure is the name of a figure with so many networks.
func (s *netSide) figure(n int, what string) string { return fmt.Sprintf("%s%d.%s", s.prefix, n, what) }

func (s *netSide) keep(name string, v float64) {
	if s.series[name] == nil {
		s.names = append(s.names, name)
	}
	s.series[name] = append(s.series[name], v)
}

// derived are the rounds that count with so many networks, which are all but the first.
func (s *netSide) derived(n int) []Series {
	var out []Series
	for _, name := range s.names {
		if samples := s.series[name][1:]; len(samples) > 0 {
			of, figure := "", name
			if bare, ok := strings.CutPrefix(name, besideFloor); ok {
				of, figure = besideFloor, bare
			}
			out = append(out, Series{Name: of + s.figure(n, figure), Unit: unitOf(name), Samples: samples})
		}
	}
	s.names, s.series = nil, map[string][]float64{}
	return out
}

// unitOf is the unit of what is kept beside the time of the start.
func unitOf(name string) string {
	switch name {
	case "start.programs", "remove.programs", "start.transactions", "remove.transactions":
		return "each"
	}
	return "ms"
}

// run starts networks, which is measured, has them answer, restarts the daemon beside them, and has them go.
func (s *netSide) run(ctx context.Context, n int) (took float64, err error) {
	if err := s.up(ctx); err != nil {
		return 0, err
	}
	var nets []remote.Network
	defer func() {
		if err != nil {
			return // close ends everything at once
		}
		end := context.WithoutCancel(ctx)
		err = errors.Join(s.undefine(end, nets), s.down(end))
	}()
	nets, err = s.define(ctx, n)
	if err != nil {
		return 0, err
	}
	if s.firewalld != nil {
		if err := s.zone(ctx, nets[0]); err != nil {
			return 0, err
		}
	}
	each, err := s.each(ctx, "start", nets, remote.ProcNetworkCreate)
	if err != nil {
		return 0, err
	}
	s.keep("more", lastOf(each))
	if s.firewalld != nil {
		if err := s.reload(ctx, n); err != nil {
			return 0, err
		}
	}
	if err := s.bench.asker.ask(ctx, n, s.peer != nil); err != nil {
		return 0, fmt.Errorf("%s%d networks: %w", s.prefix, n, err)
	}
	if err := s.restart(ctx, n); err != nil {
		return 0, err
	}
	gone, err := s.each(ctx, "remove", nets, remote.ProcNetworkDestroy)
	if err != nil {
		return 0, err
	}
	s.keep("remove", sum(gone))
	if s.firewalld != nil {
		if err := s.bareCalls(ctx, n); err != nil {
			return 0, err
		}
	}
	return sum(each), nil
}

// zone has the daemon make its zone of firewalld, for which that has to reload, as the first network on a host does once and
// for all.
func (s *netSide) zone(ctx context.Context, n remote.Network) error {
	c := s.daemon.client()
	return errors.Join(c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkCreate, &n, &xdr.Void{}),
		c.Call(ctx, remote.ProgramRemote, remote.ProcNetworkDestroy, &n, &xdr.Void{}))
}

// dropGroup removes the links that a daemon which was ended left, all at once. There may be none.
func dropGroup(ctx context.Context, group uint32) {
	_ = ipBatch(ctx, fmt.Sprintf("link delete group %d", group))
}

// mostRecent are how many of the last networks say what one more costs.
const mostRecent = 10

// lastOf is the median of the last.
func lastOf(each []float64) float64 {
	return Series{Samples: each[max(0, len(each)-mostRecent):]}.Figure().Median
}

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
}

// each does the same with each network and returns how long each took; what was executed and changed meanwhile is kept.
func (s *netSide) each(ctx context.Context, what string, nets []remote.Network, procedure uint32) (took []float64, err error) {
	conn, err := nft.Open(s.bench.k)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	before, err := conn.Generation(ctx)
	if err != nil {
		return nil, err
	}
	programs, err := watchExecs(s.roots()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, programs.close()) }()
	took = make([]float64, len(nets))
	c := s.daemon.client()
	for i, n := range nets {
		began := time.Now()
		if err := c.Call(ctx, remote.ProgramRemote, procedure, &n, &xdr.Void{}); err != nil {
			return nil, err
		}
		took[i] = milliseconds(time.Since(began))
	}
	after, err := conn.Generation(ctx)
	if err != nil {
		return nil, err
	}
	executed, err := programs.count()
	if err != nil {
		return nil, err
	}
	s.keep(what+".programs", float64(executed)/float64(len(nets)))
	if s.prefix != inIPTablesLegacy+"." { // which has nothing that counts them
		s.keep(what+".transactions", float64(after-before)/float64(len(nets)))
	}
	return took, nil
}

// restart is how soon a daemon that starts beside networks that are active has listed them.
func (s *netSide) restart(ctx context.Context, n int) error {
	if err := s.daemon.stop(); err != nil {
		return err
	}
	began := time.Now()
	if err := s.daemon.start(ctx); err != nil {
		return err
	}
	const active = 2 // VIR_CONNECT_LIST_NETWORKS_ACTIVE
	all, err := s.daemon.client().Networks(ctx, active)
	if err != nil {
		return err
	}
	s.keep("restart", milliseconds(time.Since(began)))
	if len(all) != n {
		return fmt.Errorf("after its restart the daemon has %d of %d networks", len(all), n)
	}
	return nil
}

func (s *netSide) define(ctx context.Context, n int) (nets []remote.Network, err error) {
	for i := range n {
		var net remote.Network
		if err := s.daemon.client().Call(ctx, remote.ProgramRemote, remote.ProcNetworkDefineXML, &remote.String{S: networkDocument(i)}, &net); err != nil {
			return nets, err
		}
		nets = append(nets, net)
	}
	return nets, nil
}

// undefine forgets networks.
func (s *netSide) undefine(ctx context.Context, nets []remote.Network) error {
	var errs []error
	for _, n := range nets {
		errs = append(errs, s.daemon.client().Call(ctx, remote.ProgramRemote, remote.ProcNetworkUndefine, &n, &xdr.Void{}))
	}
	return errors.Join(errs...)
}

// networkDocument is the n-th network.
func networkDocument(n int) string {
	p := placeOf(n)
	return fmt.Sprintf(`<network><name>bench%[1]d</name><forward mode='nat'><nat ipv6='yes'/></forward><bridge name='%[2]s' stp='off' delay='0'/>
  <domain name='%[3]s' localOnly='yes'/><dns><host ip='%[4]s'><hostname>%[5]s</hostname></host></dns>
  <ip address='%[6]s' netmask='255.255.255.0'><dhcp><range start='%[7]s' end='%[8]s'/></dhcp></ip>
  <ip family='ipv6' address='%[9]s' prefix='64'/></network>`, n, p.bridge, p.domain, p.four(9), localName, p.four(1), p.four(100), p.four(200), p.six(1))
}

// flush removes what somebody else's back end leaves behind when all its networks have gone: empty chains and tables.
func flush(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, "nft", "flush", "ruleset").CombinedOutput(); err != nil {
		return fmt.Errorf("nft flush ruleset: %w: %s", err, out)
	}
	return nil
}

// close ends what is still there.
func (s *netSide) close(ctx context.Context) error {
	var errs []error
	if s.end != nil {
		errs = append(errs, s.end(ctx))
	}
	if s.isUp && s.firewalld != nil {
		s.firewalld.stop()
	}
	if s.isUp && s.group != 0 {
		dropGroup(ctx, s.group)
	}
	return errors.Join(errs...)
}
