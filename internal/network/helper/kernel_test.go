package helper_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/helper"
	"taproom/internal/spec"
)

func seven() helper.Network {
	return helper.Network{UUID: spec.UUID{7}, Bridge: "virbr7", DHCP4: &dhcp4.Config{
		Subnets: []dhcp4.Subnet{{
			Server: netip.MustParseAddr("10.7.0.1"), Prefix: netip.MustParsePrefix("10.7.0.0/24"), Gateway: netip.MustParseAddr("10.7.0.1"),
		}},
		Ranges: []dhcp4.Range{{Start: netip.MustParseAddr("10.7.0.10"), End: netip.MustParseAddr("10.7.0.10")}},
		Hosts:  []dhcp4.Host{{MAC: "52:54:00:00:00:02", Name: "two", IP: netip.MustParseAddr("10.7.0.22")}},
		DNS:    []netip.Addr{netip.MustParseAddr("10.7.0.1")}, Domain: "example.test", Authoritative: true,
	}}
}

func eight() helper.Network {
	n := seven()
	n.UUID, n.Bridge, n.DHCP4.Hosts = spec.UUID{8}, "virbr8", nil // the same addresses on another bridge
	return n
}

func TestDhclientGetsRenewsRebootsWithAndReleasesAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	n.DHCP4.LeaseSeconds = 6
	s.serve(n)
	g := s.guest("virbr7", "52:54:00:00:00:01")
	const config = "10.7.0.10 255.255.255.0 10.7.0.1 10.7.0.1 example.test"
	stop := g.dhclient()
	g.want("BOUND "+config, "RENEW "+config)
	s.wantEvents("add 10.7.0.10", "old 10.7.0.10")
	stop()
	stop = g.dhclient()
	g.want("REBOOT " + config)
	s.wantEvents("old 10.7.0.10")
	stop()
	g.dhclient("-r")
	g.want("RELEASE")
	s.wantEvents("del 10.7.0.10")
	if got := s.leases(n.UUID); got != "" {
		t.Errorf("leases after the release: %s", got)
	}
}

func TestUdhcpcGetsRenewsAndReleasesAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:01")
	signal, _ := g.udhcpc("-x", "hostname:alpha")
	g.want("deconfig", "bound 10.7.0.10")
	s.wantEvents("add 10.7.0.10")
	if got := s.leases(seven().UUID); got != "10.7.0.10 52:54:00:00:00:01 alpha" {
		t.Errorf("leases: %q", got)
	}
	signal(renew) // by unicast from the kernel's socket
	g.want("renew 10.7.0.10")
	s.wantEvents("old 10.7.0.10")
	signal(unix.SIGUSR2) // release
	g.want("deconfig")
	s.wantEvents("del 10.7.0.10")
}

func TestAClientFromAnotherNetworkIsSentAwayAndStartsAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:02")
	old := `lease { interface "eth0"; fixed-address 192.168.99.5; option subnet-mask 255.255.255.0; option dhcp-lease-time 86400;
	renew never; rebind never; expire never; }`
	if err := os.WriteFile(filepath.Join(g.dir, "leases"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	g.dhclient()
	g.want("EXPIRE", "BOUND 10.7.0.22 255.255.255.0 10.7.0.1 10.7.0.1 example.test")
	st, err := s.h.Stats(s.ctx, seven().UUID)
	if err != nil || st.Received != 3 || st.Answered != 3 || st.Leases != 1 {
		t.Errorf("a refusal, an offer and an address were counted as %+v, %v", st, err)
	}
}

func TestAnAddressThatAStaticGuestUsesIsNotGivenToAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	n.DHCP4.Ranges[0].End = netip.MustParseAddr("10.7.0.11")
	s.serve(n)
	static := s.guest("virbr7", "52:54:00:00:00:05")
	static.ns.Shell("ip addr add 10.7.0.10/24 dev eth0; ping -c 1 -w 60 10.7.0.1 >/dev/null")
	for _, mac := range []string{"52:54:00:00:00:01", "52:54:00:00:00:06"} {
		g := s.guest("virbr7", mac)
		g.udhcpc("-q", "-n", "-t", "3")
		if mac == "52:54:00:00:00:01" {
			g.want("deconfig", "bound 10.7.0.11")
		} else {
			g.want("deconfig", "bound 10.7.0.10") // the last resort: who answers for it may lie
		}
	}
}

func TestTwoNetworksDoNotKnowOfEachOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.serve(seven()), s.serve(eight())
	for _, bridge := range []string{"virbr7", "virbr8"} { // one address, twice
		g := s.guest(bridge, "52:54:00:00:0"+bridge[5:]+":01")
		g.udhcpc("-q")
		g.want("deconfig", "bound 10.7.0.10")
	}
	got, err := s.h.Observe(s.ctx)
	want := fmt.Sprint([]helper.Observed{
		{UUID: spec.UUID{7}, Bridge: "virbr7", Index: a, Fingerprint: seven().Fingerprint()},
		{UUID: spec.UUID{8}, Bridge: "virbr8", Index: b, Fingerprint: eight().Fingerprint()},
	})
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("observed %v, %v\nwant %s", got, err, want)
	}
	one, err := s.h.Observe(s.ctx, spec.UUID{8}, spec.UUID{9}) // of which there is none
	if err != nil || len(one) != 1 || one[0] != got[1] {
		t.Errorf("observed of one %v, %v; want %v", one, err, got[1])
	}
	if err := s.h.Remove(s.ctx, spec.UUID{7}); err != nil {
		t.Error(err)
	}
	if err := s.h.Remove(s.ctx, spec.UUID{7}); err != nil {
		t.Errorf("remove what is gone: %v", err)
	}
	if got := s.leases(spec.UUID{8}); !strings.HasPrefix(got, "10.7.0.10 52:54:00:00:08:01") {
		t.Errorf("leases of the other network: %q", got)
	}
	_, err = s.h.Leases(s.ctx, spec.UUID{7})
	var refused *helper.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("leases of a removed network: %v", err)
	}
}

func TestAHelperThatWasKilledIsReplacedAndItsLeasesAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:01")
	signal, _ := g.udhcpc()
	g.want("deconfig", "bound 10.7.0.10")
	s.wantEvents("add 10.7.0.10")

	if err := unix.Kill(s.h.Hello().PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.h.Lost():
	case <-s.ctx.Done():
		t.Fatal("nobody noticed that the helper was killed")
	}
	if _, err := s.h.Observe(s.ctx); !errors.Is(err, helper.ErrLost) {
		t.Errorf("a lost helper answered %v", err)
	}
	if err := s.h.Close(); err != nil {
		t.Error(err)
	}
	s.open()
	if s.h.Adopted() {
		t.Error("the dead helper was adopted")
	}
	s.set(seven(), index)
	if got := s.leases(seven().UUID); !strings.HasPrefix(got, "10.7.0.10 52:54:00:00:00:01") {
		t.Errorf("leases after the restart: %q", got)
	}
	signal(renew)
	g.want("renew 10.7.0.10")
	s.wantEvents("old 10.7.0.10")
}

func TestTheNextDaemonFindsTheHelperServing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serve(seven())
	before, err := s.h.Observe(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	pid := s.h.Hello().PID
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	g := s.guest("virbr7", "52:54:00:00:00:01")
	g.udhcpc("-q")
	g.want("deconfig", "bound 10.7.0.10") // while there is no daemon
	if err := os.Remove(filepath.Join(s.o.Dir, "pid.json")); err != nil {
		t.Fatal(err)
	}
	s.o.Cgroup = "" // with neither pid file nor cgroup nothing confirms who it is
	s.open()
	if s.h.Adopted() || s.h.Hello().PID == pid {
		t.Error("a helper that nothing identifies was adopted")
	}
	s.set(seven(), index)
	pid = s.h.Hello().PID
	if err := s.h.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	after, err := s.h.Observe(s.ctx)
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) || !s.h.Adopted() || s.h.Hello().PID != pid {
		t.Errorf("found %v (adopted %v, process %d), %v\nwant %v, process %d", after, s.h.Adopted(), s.h.Hello().PID, err, before, pid)
	}
	if got := s.leases(seven().UUID); !strings.HasPrefix(got, "10.7.0.10 ") {
		t.Errorf("leases: %q", got)
	}
}
