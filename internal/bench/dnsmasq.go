package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dnsmasqWithin is how long one may take to answer.
const dnsmasqWithin = 30 * time.Second

// dnsmasq is one that serves a link as libvirt's does: two processes, the second of which runs scripts.
type dnsmasq struct {
	program string
	libs    string // folder of what it is linked with, "" for the machine's
	dir     string // of its own
	link    string
	server  netip.Addr
	six     netip.Addr
	full    bool   // with many leases
	extra   string // options
	said    strings.Builder
	cmd     *exec.Cmd
	added   int // hosts
}

// findDnsmasq returns the program below a folder of peers, or the installed one.
func findDnsmasq(peers string) (program, libs string, err error) {
	if peers != "" {
		peers, err = filepath.Abs(peers)
		program = filepath.Join(peers, "usr/sbin/dnsmasq")
		if _, serr := os.Stat(program); err == nil && serr == nil {
			return program, filepath.Join(peers, "usr/lib/x86_64-linux-gnu") + ":" + filepath.Join(peers, "lib/x86_64-linux-gnu"), nil
		}
	}
	if program, err = exec.LookPath("dnsmasq"); err != nil {
		return "", "", errors.New("dnsmasq is neither installed nor among the peers: `make bench-peers` fetches it and names its folder with --peers")
	}
	return program, "", nil
}

// config is what libvirt writes for a network with both families, but for where names are forwarded to.
func (d *dnsmasq) config(upstream netip.AddrPort) string {
	four := d.server.As4()
	at := func(low, last byte) string { return netip.AddrFrom4([4]byte{four[0], four[1], low, last}).String() }
	six := strings.TrimSuffix(d.six.String(), "1")
	lines := []string{
		"strict-order", "user=nobody", "except-interface=lo", "bind-dynamic", "interface=" + d.link, "no-resolv",
		"server=" + strings.Replace(upstream.String(), ":", "#", 1), "domain=net.test", "local=/net.test/", "expand-hosts",
		"pid-file=" + d.file("pid"), "dhcp-range=" + at(1, 16) + "," + at(254, 254) + ",255.255.0.0", "dhcp-lease-max=65000",
		"dhcp-authoritative", "dhcp-no-override", "dhcp-hostsfile=" + d.file("hosts"), "addn-hosts=" + d.file("names"),
		"dhcp-range=" + six + "1000," + six + "1fff,64", "enable-ra", "dhcp-script=/bin/true",
	}
	if d.full {
		lines = append(lines, "dhcp-leasefile="+d.file("leases"))
	} else {
		lines = append(lines, "leasefile-ro")
	}
	return strings.Join(append(lines, d.extra), "\n") + "\n"
}

func (d *dnsmasq) file(name string) string { return filepath.Join(d.dir, name) }

// prepare writes its files.
func (d *dnsmasq) prepare(upstream netip.AddrPort) error {
	err := os.MkdirAll(d.dir, 0o755)
	files := map[string]string{
		"conf": d.config(upstream), "hosts": "52:54:00:00:00:02," + d.server.Next().String() + ",fixed\n",
		"names": d.server.Next().String() + " " + localName + "\n",
	}
	if d.full {
		var b strings.Builder
		ip := netip.AddrFrom4([4]byte{d.server.As4()[0], d.server.As4()[1], 1, 16})
		for i := range manyLeases {
			fmt.Fprintf(&b, "%d %s %s guest%d *\n", time.Now().Unix()+86400, leaseMAC(i), ip, i)
			ip = ip.Next()
		}
		files["leases"] = b.String()
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(d.file(name), []byte(text), 0o644))
	}
	if d.full {
		const nobody = 65534
		err = errors.Join(err, os.Chown(d.dir, nobody, -1), os.Chown(d.file("leases"), nobody, -1))
	}
	return err
}

// start starts it and returns while it comes up.
func (d *dnsmasq) start() error {
	d.cmd = exec.Command(d.program, "--keep-in-foreground", "--conf-file="+d.file("conf"))
	d.cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+d.libs)
	d.said.Reset()
	d.cmd.Stderr = &d.said
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start dnsmasq: %w", err)
	}
	return nil
}

// stop ends it.
func (d *dnsmasq) stop() error {
	if d.cmd == nil {
		return nil
	}
	_ = d.cmd.Process.Signal(unix.SIGTERM) // it may have ended, which Wait tells
	err := d.cmd.Wait()
	d.cmd = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == unix.SIGTERM {
			return nil // it had not come to where it looks after signals
		}
	}
	if err != nil {
		return fmt.Errorf("dnsmasq ended badly: %w: %s", err, strings.TrimSpace(d.said.String()))
	}
	return nil
}

// join is a start until the first answer; it is ended again.
func (d *dnsmasq) join(ctx context.Context, a *asker) (float64, error) {
	began := time.Now()
	if err := d.start(); err != nil {
		return 0, err
	}
	err := a.until(ctx, localName+".net.test")
	took := milliseconds(time.Since(began))
	return took, errors.Join(err, d.stop())
}

// change gives the network one more DHCP host with a name, and takes until the name is answered.
func (d *dnsmasq) change(ctx context.Context, a *asker) (float64, error) {
	d.added++
	name := fmt.Sprintf("added%d", d.added)
	ip := netip.AddrFrom4([4]byte{d.server.As4()[0], d.server.As4()[1], 0, 100}).String()
	began := time.Now()
	if err := errors.Join(
		os.WriteFile(d.file("hosts"), []byte("52:54:00:00:00:03,"+ip+","+name+"\n"), 0o644),
		os.WriteFile(d.file("names"), []byte(d.server.Next().String()+" "+localName+"\n"+ip+" "+name+"\n"), 0o644),
		d.cmd.Process.Signal(syscall.SIGHUP),
	); err != nil {
		return 0, err
	}
	err := a.until(ctx, name+".net.test")
	return milliseconds(time.Since(began)), err
}

// processes are those of one dnsmasq.
func (d *dnsmasq) processes() ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", d.cmd.Process.Pid))
	return append(strings.Fields(string(b)), fmt.Sprint(d.cmd.Process.Pid)), err
}

// proportional is its memory in MB. Of a page that several processes share each has its part: their resident memory would
// count the program and its libraries once for every network.
func (d *dnsmasq) proportional() (float64, error) {
	all, err := d.processes()
	if err != nil {
		return 0, err
	}
	var sum float64
	for _, pid := range all {
		b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			return 0, err
		}
		mb, err := parseMemory(string(b), "Pss:")
		if err != nil {
			return 0, err
		}
		sum += mb
	}
	return sum, nil
}
