package host_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// told waits until the watch has told all of want, in that order; other things may come between.
func told(t *testing.T, lines <-chan string, want ...string) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	var seen []string
	for len(want) > 0 {
		select {
		case line := <-lines:
			seen = append(seen, line)
			if line == want[0] {
				want = want[1:]
			}
		case <-deadline:
			t.Fatalf("%q is not told; what was told:\n%s", want[0], strings.Join(seen, "\n"))
		}
	}
}

// watching runs a watch until the test ends, and gives what it tells as text.
func watching(t *testing.T, w *host.LinkWatch) <-chan string {
	t.Helper()
	lines := make(chan string, 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() {
		err := w.Run(ctx, func(changes []host.LinkChange, missed bool) {
			if missed {
				lines <- "missed"
			}
			for _, c := range changes {
				lines <- describe(c)
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); run.Wait() })
	return lines
}

func describe(c host.LinkChange) string {
	l := c.Link
	switch {
	case c.Forwards:
		return "forwarding was set"
	case c.Lost:
		return fmt.Sprintf("link %d lost an address", l.Index)
	case c.Gone:
		return fmt.Sprintf("%s %s is gone", l.Kind, l.Name)
	}
	return fmt.Sprintf("%s %s master %d up %v mtu %d", l.Kind, l.Name, l.Master, l.Up, l.MTU)
}

func TestChangesOfLinksAreToldAsTheyHappen(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	w, err := k.WatchLinks()
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	bridge, err := k.CreateBridge(host.BridgeSpec{Name: "br0"}) // before anybody reads
	must(err)
	lines := watching(t, w)
	tap, err := k.CreateTap(host.TapSpec{Name: "tap0"})
	must(err)
	defer tap.Close()
	must(k.SetLink(tap.Index, host.LinkSettings{Master: bridge, MTU: 1400, Up: true}))
	must(k.AddAddress(bridge, netip.MustParsePrefix("192.0.2.1/24")))
	must(k.DelAddress(bridge, netip.MustParsePrefix("192.0.2.1/24")))
	must(k.SetMaster(tap.Index, 0))
	must(k.SetUp(tap.Index, false))
	must(k.SetSysctl("net/ipv4/conf/br0/forwarding", "1"))
	must(k.DeleteLink(tap.Index))
	must(k.SetSysctl("net/ipv4/ip_forward", "1"))
	must(k.DeleteLink(bridge))
	must(k.SetSysctl("net/ipv6/conf/all/forwarding", "1"))
	told(t, lines,
		"bridge br0 master 0 up false mtu 1500",
		"tun tap0 master 0 up false mtu 1500",
		fmt.Sprintf("tun tap0 master %d up true mtu 1400", bridge),
		fmt.Sprintf("link %d lost an address", bridge),
		"tun tap0 master 0 up true mtu 1400",
		"tun tap0 master 0 up false mtu 1400",
		"tun tap0 is gone",
		"forwarding was set",
		"bridge br0 is gone",
		"forwarding was set")
}

// Whoever does not read for too long is told that something was missed, and all that comes then: the kernel drops whatever
// happens until the last thing that it holds has been read.
func TestAWatchSaysThatItMissedSomething(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	w, err := k.WatchLinks()
	if err != nil {
		t.Fatal(err)
	}
	index, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20_000 { // each is told
		if err := k.SetMTU(index, 1000+n%2); err != nil {
			t.Fatal(err)
		}
	}
	lines := watching(t, w)
	told(t, lines, "missed")
	if err := k.DeleteLink(index); err != nil {
		t.Fatal(err)
	}
	told(t, lines, "bridge br0 is gone")
}
