package healtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/api/remote"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

const isolatedXML = `<network><name>%s</name><bridge name='virbr-%[1]s' stp='off'/>
  <ip address='192.168.%[2]d.1' netmask='255.255.255.0'/><ip family='ipv6' address='fd00:%[2]d::1' prefix='64'/></network>`

// islands are what a world has in addition: two isolated networks with a guest on each, and outsiders that know the way to them.
type islands struct {
	*world
	first, second *hosttest.NS
	kept          []*crossing // by isolation: none arrives, ever
	hidden        []*crossing // by rules of NAT
	echo          string      // outside
}

func newIslands(t *testing.T, d *daemontest.Daemon, settings string) *islands {
	t.Helper()
	w := &islands{world: newWorldOf(t, d, settings), first: hosttest.NewNS(t), second: hosttest.NewNS(t)}
	for i, ns := range []*hosttest.NS{w.first, w.second} {
		name, n := fmt.Sprintf("iso%d", i+1), 160+i
		xml := fmt.Sprintf(isolatedXML, name, n)
		err := d.Client().Call(t.Context(), remote.ProgramRemote, remote.ProcNetworkCreateXML, &remote.String{S: xml}, &remote.Network{})
		if err != nil {
			t.Fatalf("create network %s: %v: %s", name, err, d.Said())
		}
		hosttest.Veth(w.host(), "island"+name, ns, "eth0")
		w.host().Run("ip", "link", "set", "island"+name, "master", "virbr-"+name)
		ns.Shell(fmt.Sprintf(`ip addr add 192.168.%[1]d.10/24 dev eth0; ip route add default via 192.168.%[1]d.1
			ip addr add fd00:%[1]d::10/64 dev eth0 nodad; ip route replace default via fd00:%[1]d::1`, n))
	}
	w.away.Shell(`for n in 150 160 161; do ip route add 192.168.$n.0/24 via 192.0.2.1; ip route add fd00:$n::/64 via 2001:db8::1; done`)
	for _, c := range []struct {
		name     string
		from, to *hosttest.NS
		four     string
		six      string
	}{
		{"island to island", w.first, w.second, "192.168.161.10", "fd00:161::10"},
		{"island to NAT", w.first, w.guest, guestAddr, guestAddr6},
		{"island to LAN", w.second, w.away, awayAddr, awayAddr6},
		{"LAN to island", w.away, w.first, "192.168.160.10", "fd00:160::10"},
		{"NAT to island", w.guest, w.second, "192.168.161.10", "fd00:161::10"},
	} {
		w.kept = append(w.kept, w.cross(c.name, c.from, c.to, c.four), w.cross(c.name+" by IPv6", c.from, c.to, c.six))
	}
	w.hidden = []*crossing{w.cross("LAN to NAT", w.away, w.guest, guestAddr), w.cross("LAN to NAT by IPv6", w.away, w.guest, guestAddr6)}
	w.echo = w.echoes(w.away, awayAddr)
	return w
}

// open shows that packets cross where nothing keeps them, and has everything closed again by another daemon.
func (w *islands) open(flush string) {
	w.Helper()
	w.daemon.Kill()
	w.host().Shell("for i in 1 2; do tc qdisc delete dev virbr-iso$i clsact; done; " + flush)
	w.comes("packets cross where nothing keeps them", func() bool {
		for _, c := range append(w.kept, w.hidden...) {
			if c.received.Load() == 0 {
				return false
			}
		}
		return true
	})
	w.Logf("with no fence and no rules arrive: %s", counted(append(w.kept, w.hidden...)))
	if err := w.daemon.Start(); err != nil {
		w.Fatal(err)
	}
	w.answered(w.guest, w.echo)
}

// storm is who flushes rules, again and again.
type storm struct {
	program []string
	says    string // to the program, each time; it reads on until its input ends
}

// raise has the storms blow a hundred times a second, until the returned function ends that. That one returns how often, and when
// they had ended.
func (w *world) raise(storms []storm) (end func() (times int, ended time.Time)) {
	w.Helper()
	var inputs []io.WriteCloser
	var programs []*exec.Cmd
	for _, s := range storms {
		c := exec.CommandContext(w.Context(), s.program[0], s.program[1:]...)
		in, err := c.StdinPipe()
		if err == nil {
			err = w.host().Start(c)
		}
		if err != nil {
			w.Fatal(err)
		}
		inputs, programs = append(inputs, in), append(programs, c)
	}
	over, blown := make(chan struct{}), make(chan int)
	go func() {
		times := 0
		defer func() { blown <- times }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			for i, s := range storms {
				if _, err := io.WriteString(inputs[i], s.says); err != nil {
					w.Errorf("%v: %v", s.program, err)
					return
				}
			}
			times++
			select {
			case <-over:
				return
			case <-tick.C:
			}
		}
	}()
	end = sync.OnceValues(func() (int, time.Time) {
		close(over)
		times := <-blown
		for i, c := range programs {
			_ = inputs[i].Close()
			if err := c.Wait(); err != nil {
				w.Errorf("%v: %v", storms[i].program, err)
			}
		}
		return times, time.Now()
	})
	w.Cleanup(func() { end() })
	return end
}

// says asks what is wrong until that has all parts, and returns it.
func (w *world) says(parts ...string) (said string) {
	w.Helper()
	defer func() {
		if w.Failed() {
			w.Logf("it says %q, and should say all of %q", said, parts)
		}
	}()
	w.comes("it says who changes what", func() bool {
		said = w.problems()
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(said, part) })
	})
	return said
}

func flushes() map[string][]storm {
	return map[string][]storm{
		"nft": {{[]string{"nft", "-i"}, "flush ruleset\n"}},
		"iptables": {
			{[]string{"iptables-restore", "--noflush"}, "*filter\n-F\nCOMMIT\n*nat\n-F\nCOMMIT\n"},
			{[]string{"ip6tables-restore", "--noflush"}, "*filter\n-F\nCOMMIT\n*nat\n-F\nCOMMIT\n"},
		},
		"iptables-legacy": {
			{[]string{"iptables-legacy-restore", "--noflush", "-w"}, "*filter\n-F\nCOMMIT\n*nat\n-F\nCOMMIT\n"},
			{[]string{"ip6tables-legacy-restore", "--noflush", "-w"}, "*filter\n-F\nCOMMIT\n*nat\n-F\nCOMMIT\n"},
		},
	}
}

// flush removes all rules once, by the same programs.
func flush(by string) string {
	if by == "nft" {
		return "nft flush ruleset"
	}
	four, six := by+" -w ", strings.Replace(by, "ip", "ip6", 1)+" -w "
	return four + "-F; " + four + "-t nat -F; " + six + "-F; " + six + "-t nat -F"
}

// legacy has a daemon find the programs that write the older of the kernel's interfaces.
func legacy(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		program, end, _ := strings.Cut(name, "-")
		path, err := exec.LookPath(strings.TrimSuffix(program+"-legacy-"+end, "-"))
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatalf("%v (Debian: iptables)", err)
		}
	}
	d.With = append(d.With, daemontest.Env("PATH="+dir+":"+os.Getenv("PATH")))
}

// sinceClosed resets the counts of datagrams that NAT hides once the guests of NAT are closed and those on the way have arrived.
func (w *islands) sinceClosed() {
	w.Helper()
	w.comes("guests of NAT are closed", func() bool { return w.fence("virbr-one").To4 && w.fence("virbr-one").To6 })
	for _, c := range w.hidden {
		sent, received := c.sent.Load(), c.received.Load()
		w.comes("no datagram is on its way", func() bool {
			if now := c.received.Load(); now != received {
				sent, received = c.sent.Load(), now
			}
			return c.sent.Load() > sent+10
		})
	}
	reset(w.hidden)
}

// However often other programs remove all rules, isolated networks stay isolated, guests behind NAT are unreachable from outside as soon
// as the daemon has noticed, and NAT is back soon after that ends.
func TestIsolation_HoldsInAStormOfFlushes(t *testing.T) {
	t.Parallel()
	const probes = 50 * time.Millisecond
	lasts := 3 * time.Second
	if os.Getenv("TAPROOM_LONG") != "" {
		lasts = 30 * time.Second
	}
	for _, c := range []struct{ name, settings, flushes string }{
		{"owned tables", "", "nft"},
		{"shared tables", shared, "nft"},
		{"iptables", "firewall_backend = 'iptables'\n", "iptables"},
		{"firewalld", shared, "nft"},
		{"iptables-legacy", "firewall_backend = 'iptables'\n", "iptables-legacy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := daemontest.Prepare(t)
			if c.name == "firewalld" {
				fwd := firewalldtest.Start(t, d.NS, firewalldtest.NFTables)
				c.settings += fmt.Sprintf("system_bus = '%s'\n", fwd.Socket)
			}
			if c.flushes == "iptables-legacy" {
				legacy(t, d)
			}
			w := newIslands(t, d, c.settings)
			if err := hasFences(w); err != nil {
				hosttest.Needs(t, err, hosttest.Lift{Since: "6.1", Module: "cls_bpf"})
			}
			owned := strings.Contains(w.state(), "flags owner")
			if c.name == "owned tables" && !owned {
				hosttest.Needs(t, &host.Missing{What: "tables that persist", Config: "CONFIG_NF_TABLES"}, hosttest.Lift{Since: "6.12"})
			}
			w.open(flush(c.flushes))
			reset(append(w.kept, w.hidden...))
			said, began := "", time.Now()
			end := w.raise(flushes()[c.flushes])
			noticed, first, by := time.Duration(0), "", c.flushes
			if by == "iptables-legacy" { // of which the kernel does not tell
				by = ""
			}
			if !owned {
				w.sinceClosed()
				noticed = time.Since(began)
				said = w.says("the firewall's rules of networks was put back", by, "closed meanwhile, so that nothing is forwarded to guests: one, two", "isolated as ever: iso1, iso2")
				first = "; until the rules were gone again: " + counted(w.hidden) // a repair that was confirmed had opened them
				w.sinceClosed()
			}
			tick := time.NewTicker(probes)
			defer tick.Stop()
			for ; time.Since(began) < lasts; <-tick.C {
				if owned {
					said += w.problems()
				}
			}
			for _, h := range w.hidden {
				if n := h.received.Load(); n > 0 {
					t.Errorf("%s: %d of %d arrive while the rules are known to be gone", h.name, n, h.sent.Load())
				}
			}
			times, ended := end()
			back := w.answered(w.guest, w.echo)
			w.comes("nothing is wrong", func() bool { return w.problems() == "" })
			t.Logf("%d flushes in %v; the guests of NAT are closed after %v; NAT is back %v after, and all is well after %v; of those kept arrive: %s; of those hidden by NAT: %s", times, ended.Sub(began).Round(time.Millisecond),
				noticed.Round(time.Millisecond), back.Round(time.Millisecond), time.Since(ended).Round(time.Millisecond), counted(w.kept), counted(w.hidden)+first)
			for _, k := range w.kept {
				if k.received.Load() > 0 || k.sent.Load() < 100 {
					t.Errorf("%s: %d of %d", k.name, k.received.Load(), k.sent.Load())
				}
			}
			if owned && said != "" {
				t.Errorf("meanwhile it says %q", said)
			}
			t.Log(said)
		})
	}
}

// hasFences is why bridges have none.
func hasFences(w *islands) error {
	w.Helper()
	if w.fence("virbr-iso1") != host.ClosedFence() {
		return &host.Missing{What: "eBPF for clsact", Config: "CONFIG_NET_CLS_BPF and CONFIG_BPF_SYSCALL"}
	}
	return nil
}

// fence is that of a bridge.
func (w *world) fence(bridge string) host.Fence {
	w.Helper()
	l, err := w.host().Kernel().LinkByName(bridge)
	if err != nil {
		w.Fatal(err)
	}
	f, err := w.host().Kernel().Fence(l.Index)
	if err != nil {
		w.Fatal(err)
	}
	return f
}
