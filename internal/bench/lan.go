package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// netns is a network namespace beside the one that this process is in: that of clients.
type netns struct{ file *os.File }

// newNetns makes one in which the kernel has no IPv6, and so says nothing by itself.
func newNetns() (n *netns, err error) {
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		n = &netns{file: f}
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a network namespace for clients: %w", err), n.close())
	}
	return n, nil
}

// do runs something that depends on the namespace of its thread.
func (n *netns) do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// onThread runs f on a thread that ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		done <- f()
	}()
	return <-done
}

// path is a name by which ip(8) finds it while this process runs.
func (n *netns) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

func (n *netns) close() error {
	if n == nil {
		return nil
	}
	return n.file.Close()
}

// ipBatch has ip(8) do several things.
func ipBatch(ctx context.Context, lines ...string) error {
	c := exec.CommandContext(ctx, "ip", "-batch", "-")
	c.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ip -batch: %w: %s", err, out)
	}
	return nil
}

// linkGroup is what all links of a benchmark carry. The kernel removes a group at once; one by one, or with their
// namespace, a thousand links take it long, and whoever wants to change a link meanwhile waits.
const linkGroup = 0x6265

// lan is a bridge with one guest on it: another end of a cable in the clients' namespace.
type lan struct {
	bridge string
	index  int
	server netip.Addr // of the bridge, in a /16
	six    netip.Addr // of the bridge, in a /64
	client netip.Addr
	card   string // the guest's
	guests *netns
}

// newLAN makes the n-th.
func newLAN(ctx context.Context, k *host.Kernel, guests *netns, n int) (*lan, error) {
	l := &lan{
		bridge: fmt.Sprintf("bench%d", n), card: fmt.Sprintf("guest%d", n), guests: guests,
		server: netip.AddrFrom4([4]byte{10, byte(200 + n), 0, 1}), client: netip.AddrFrom4([4]byte{10, byte(200 + n), 0, 2}),
		six: netip.AddrFrom16([16]byte{0xfd, 0, 0, 0xff, 0, 0, 0, byte(n), 15: 1}),
	}
	port := fmt.Sprintf("port%d", n)
	err := ipBatch(
		ctx,
		fmt.Sprintf("link add name %s group %d type bridge", l.bridge, linkGroup),
		"addr add "+l.server.String()+"/16 dev "+l.bridge,
		"addr add "+l.six.String()+"/64 dev "+l.bridge+" nodad",
		fmt.Sprintf("link add name %s group %d type veth peer name %s netns %s", port, linkGroup, l.card, guests.path()),
		"link set dev "+port+" master "+l.bridge+" up",
		"link set dev "+l.bridge+" up",
	)
	if err != nil {
		return nil, err
	}
	err = guests.do(func() error {
		return ipBatch(ctx, "addr add "+l.client.String()+"/16 dev "+l.card, "link set dev "+l.card+" up")
	})
	if err != nil {
		return nil, err
	}
	link, err := k.LinkByName(l.bridge)
	if err != nil {
		return nil, err
	}
	l.index = link.Index
	return l, nil
}

// newLinks makes links for networks that nobody is on, and returns their names. A packet socket does not care what it is
// bound to, and cables are cheaper than bridges.
func newLinks(ctx context.Context, n int) ([]string, error) {
	var names, lines []string
	for i := range (n + 1) / 2 {
		a, b := fmt.Sprintf("net%d", 2*i), fmt.Sprintf("net%d", 2*i+1)
		names = append(names, a, b)
		lines = append(lines, fmt.Sprintf("link add name %s group %d type veth peer name %s group %d", a, linkGroup, b, linkGroup))
	}
	lines = append(lines, fmt.Sprintf("link set group %d up", linkGroup))
	// An address that waits to be checked as free is of no use to a service. And nobody here takes an address from an
	// advertisement: a thousand that come and go have every dnsmasq look through all links each time.
	for _, setting := range []string{"accept_dad", "accept_ra"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/"+setting, []byte("0"), 0); err != nil {
			return nil, err
		}
	}
	return names[:n], ipBatch(ctx, lines...)
}

// removeLinks removes all that the benchmark made.
func removeLinks(ctx context.Context) error {
	return ipBatch(ctx, fmt.Sprintf("link delete group %d", linkGroup))
}
