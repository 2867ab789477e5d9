package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/sysbus"
	zones "taproom/internal/network/firewall/firewalld"
	"taproom/internal/sandbox"
)

// firewalldName is firewalld's on the bus, and begins the names of its methods.
const firewalldName = "org.fedoraproject.FirewallD1"

// firewalldWithin is how long firewalld may take to come, and to do something.
const firewalldWithin = 2 * time.Minute

// firewalld is the distribution's, on a bus of its own, with a configuration of its own.
type firewalld struct {
	dir     string
	socket  string
	backend string // its own: nftables or iptables

	bus, daemon *program
	said        *strings.Builder
	conn        *sysbus.Conn
}

// start runs both, and returns when firewalld answers.
func (f *firewalld) start(ctx context.Context, k *host.Kernel) error {
	err := f.run(ctx, k)
	if err != nil {
		f.stop()
		return fmt.Errorf("start firewalld: %w: %s", err, f.said)
	}
	return nil
}

func (f *firewalld) run(ctx context.Context, k *host.Kernel) (err error) {
	ctx, cancel := context.WithTimeout(ctx, firewalldWithin)
	defer cancel()
	if err := f.runBus(ctx, k); err != nil {
		return err
	}
	if f.daemon, err = f.spawn("firewalld", "--nofork", "--nopid", "--system-config", filepath.Join(f.dir, "etc"), "--log-target=console"); err != nil {
		return err
	}
	return await(ctx, func() error { return f.call(ctx, "zone.getZones", new([]string)) })
}

// runBus runs the bus alone, and returns when it answers.
func (f *firewalld) runBus(ctx context.Context, k *host.Kernel) (err error) {
	f.said = &strings.Builder{}
	if err := f.configure(); err != nil {
		return err
	}
	if f.bus, err = f.spawn("dbus-daemon", "--config-file="+filepath.Join(f.dir, "bus.conf"), "--nofork", "--nopidfile"); err != nil {
		return err
	}
	return await(ctx, func() error { f.conn, err = sysbus.Dial(ctx, k, f.socket); return err })
}

// await tries something until it works: another program comes to be ready, and has nobody to tell.
func await(ctx context.Context, try func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// configure writes the bus's configuration and firewalld's, anew.
func (f *firewalld) configure() error {
	etc := filepath.Join(f.dir, "etc")
	if err := os.RemoveAll(etc); err != nil {
		return err
	}
	for _, kind := range []string{"zones", "policies", "services", "helpers", "icmptypes", "ipsets"} {
		if err := os.MkdirAll(filepath.Join(etc, kind), 0o700); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		"etc/firewalld.conf":         "DefaultZone=public\nCleanupOnExit=yes\nCleanupModulesOnExit=no\nIPv6_rpfilter=no\nFlushAllOnReload=yes\nFirewallBackend=" + f.backend + "\n",
		"etc/lockdown-whitelist.xml": `<?xml version="1.0" encoding="utf-8"?><whitelist/>`,
		"bus.conf": `<busconfig><type>system</type><listen>unix:path=` + f.socket + `</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`,
	} {
		if err := os.WriteFile(filepath.Join(f.dir, path), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// program is one that runs.
type program struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// spawn starts a program with the bus as its system bus.
func (f *firewalld) spawn(name string, args ...string) (*program, error) {
	p := &program{cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "DBUS_SYSTEM_BUS_ADDRESS=unix:path="+f.socket)
	p.cmd.Stdout, p.cmd.Stderr = f.said, f.said
	if err := sandbox.StartTied(p.cmd, unix.SIGKILL); err != nil {
		return nil, err
	}
	go func() { // ends with the process, which stop waits for
		_ = p.cmd.Wait() // it has a status of its own
		close(p.done)
	}()
	return p, nil
}

// stop ends both; firewalld removes its rules.
func (f *firewalld) stop() {
	if f.conn != nil {
		_ = f.conn.Close() // the bus may have gone
	}
	for _, p := range []*program{f.daemon, f.bus} {
		if p != nil {
			_ = p.cmd.Process.Signal(unix.SIGTERM)
			<-p.done
		}
	}
	f.conn, f.daemon, f.bus = nil, nil, nil
}

// call calls a method of firewalld: "zone.getZones".
func (f *firewalld) call(ctx context.Context, method string, result any, args ...any) error {
	c := sysbus.Call{Name: firewalldName, Path: "/" + strings.ReplaceAll(firewalldName, ".", "/"), Method: firewalldName + "." + method, Args: args}
	var err error
	if result == nil {
		err = f.conn.Call(ctx, c)
	} else {
		err = f.conn.Call(ctx, c, result)
	}
	if err != nil {
		return fmt.Errorf("firewalld: %s: %w", method, err)
	}
	return nil
}

// reload is how long it takes after a reload of firewalld until all bridges are in their zone again: just after they were put
// there, so that somebody has to tell firewalld (early), and once they are in its permanent configuration.
func (s *netSide) reload(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, firewalldWithin)
	defer cancel()
	if err := s.reloaded(ctx, n, "early.reload"); err != nil {
		return err
	}
	if err := await(ctx, func() error { return s.inPermanent(ctx, n) }); err != nil {
		return err
	}
	return s.reloaded(ctx, n, "reload")
}

func (s *netSide) reloaded(ctx context.Context, n int, figure string) error {
	began := time.Now()
	if err := s.firewalld.call(ctx, "reload", nil); err != nil {
		return err
	}
	reloaded := time.Now()
	s.keep(figure, milliseconds(reloaded.Sub(began)))
	err := await(ctx, func() error {
		var links []string
		err := s.firewalld.call(ctx, "zone.getInterfaces", &links, zones.Zone)
		if err == nil && len(links) < n {
			err = fmt.Errorf("%d of %d bridges are back in their zone after a reload", len(links), n)
		}
		return err
	})
	s.keep(figure+".back", milliseconds(time.Since(reloaded)))
	return err
}

// inPermanent is no error when the permanent configuration has all bridges.
func (s *netSide) inPermanent(ctx context.Context, n int) error {
	const config = firewalldName + ".config"
	var zone string
	var links []string
	c := sysbus.Call{Name: firewalldName, Path: "/" + strings.ReplaceAll(config, ".", "/"), Method: config + ".getZoneByName", Args: []any{zones.Zone}}
	if err := s.firewalld.conn.Call(ctx, c, &zone); err != nil {
		return fmt.Errorf("firewalld: %s: %w", c.Method, err)
	}
	c = sysbus.Call{Name: firewalldName, Path: zone, Method: config + ".zone.getInterfaces"}
	if err := s.firewalld.conn.Call(ctx, c, &links); err != nil {
		return fmt.Errorf("firewalld: %s: %w", c.Method, err)
	}
	if len(links) < n {
		return fmt.Errorf("%d of %d bridges are in the permanent configuration of firewalld", len(links), n)
	}
	return nil
}

// bareCalls is what firewalld takes to have as many bridges put into a zone as there are networks, one after the other, and
// taken out, by nothing but its calls. Whether there are such links it does not ask; the daemon minds its own.
func (s *netSide) bareCalls(ctx context.Context, n int) error {
	for _, one := range []struct{ figure, method string }{{"start", "zone.changeZoneOfInterface"}, {"remove", "zone.removeInterface"}} {
		began := time.Now()
		for i := range n {
			if err := s.firewalld.call(ctx, one.method, new(string), zones.Zone, fmt.Sprintf("floor%d", i)); err != nil {
				return err
			}
		}
		s.keep(besideFloor+one.figure, milliseconds(time.Since(began)))
	}
	return nil
}
