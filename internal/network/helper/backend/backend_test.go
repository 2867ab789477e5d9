package backend_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/dhcp4"
	"taproom/internal/network/helper"
	"taproom/internal/network/helper/backend"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

func network(octet byte) helper.Network {
	address := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, octet, 0, n}) }
	return helper.Network{UUID: spec.UUID{octet}, Bridge: "virbr0", DHCP4: &dhcp4.Config{
		Subnets: []dhcp4.Subnet{{Server: address(1), Prefix: netip.PrefixFrom(address(0), 24)}},
		Ranges:  []dhcp4.Range{{Start: address(10), End: address(20)}}, Authoritative: true,
	}}
}

// open returns a backend that runs, and the index of a bridge.
func open(t *testing.T) (context.Context, *backend.Backend, helper.HelperOptions, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ns := hosttest.NewNS(t)
	ns.Run("ip", "link", "add", "name", "virbr0", "up", "type", "bridge")
	ns.Keep("link virbr0")
	l, err := ns.Kernel().LinkByName("virbr0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := os.Getenv("TAPROOM_BIN") // `make test` has built it
	if bin == "" {
		bin = dir
		c := exec.Command("go", "build", "-o", dir, "taproom/cmd/taproom-vnet")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build taproom-vnet: %v: %s", err, out)
		}
	}
	o := helper.HelperOptions{
		Kernel: ns.Kernel(), Program: filepath.Join(bin, "taproom-vnet"), Dir: filepath.Join(dir, "run"),
		LeaseDir: filepath.Join(dir, "leases"), UID: 64735, GID: 64735,
	}
	b, err := backend.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := backend.Stop(context.WithoutCancel(ctx), o); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return ctx, b, o, l.Index
}

func TestAPlanIsEmptyOnceTheServiceIsSet(t *testing.T) {
	t.Parallel()
	ctx, b, _, index := open(t)
	want := map[string]state.Service{}
	for _, n := range []helper.Network{network(1), network(2), network(3)} {
		s := backend.Service(n)
		if err := b.Set(ctx, n.UUID.String(), s, index); err != nil {
			t.Fatal(err)
		}
		s.Config, s.Index = "", index
		want[n.UUID.String()] = s
	}
	check := func() {
		t.Helper()
		if got, err := b.Observe(ctx); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("observed %v, %v\nwant %v", got, err, want)
		}
	}
	check()
	gone := network(2).UUID.String()
	delete(want, gone)
	for range 2 { // removing what is gone is no error
		if err := b.Remove(ctx, gone); err != nil {
			t.Error(err)
		}
	}
	check()
	if err := b.Forget(network(2).UUID); err != nil {
		t.Error(err)
	}
}

func TestFind_StartsNoHelper(t *testing.T) {
	t.Parallel()
	ctx, b, o, _ := open(t)
	none := o
	none.Dir = filepath.Join(t.TempDir(), "none")
	if found, err := backend.Find(ctx, none); found != nil || err != nil {
		t.Errorf("found %v, %v where there is no directory", found, err)
	}
	if _, err := os.Stat(none.Dir); err == nil {
		t.Error("a look made the directory")
	}
	if err := os.Mkdir(none.Dir, 0o700); err != nil { // as a start that failed leaves it
		t.Fatal(err)
	}
	if found, err := backend.Find(ctx, none); found != nil || err != nil {
		t.Errorf("found %v, %v where none runs", found, err)
	}
	if err := backend.Stop(ctx, none); err != nil {
		t.Errorf("stop where none runs: %v", err)
	}
	if _, err := b.Observe(ctx); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

func TestAServiceOfAnotherNetworkIsRefused(t *testing.T) {
	t.Parallel()
	ctx, b, _, index := open(t)
	err := b.Set(ctx, network(2).UUID.String(), backend.Service(network(1)), index)
	if err == nil || !strings.Contains(err.Error(), "its configuration is that of") {
		t.Errorf("got %v", err)
	}
}

func TestAHelperThatEndsIsReplacedAndItsOwnerTold(t *testing.T) {
	t.Parallel()
	ctx, b, o, index := open(t)
	n := network(1)
	for i := range 4 { // more often than that in a row, there are pauses
		if err := b.Set(ctx, n.UUID.String(), backend.Service(n), index); err != nil {
			t.Fatal(err)
		}
		var pid int
		record, err := os.ReadFile(filepath.Join(o.Dir, "pid.json"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(string(record), `{"pid":%d`, &pid); err != nil {
			t.Fatal(err)
		}
		killed := time.Now()
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-b.Restarted():
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("another helper is there %v after the kill", time.Since(killed))
		case <-ctx.Done():
			t.Fatal("nobody was told")
		}
		if i > 0 { // the first time nobody reads events, which must not hold up the second
			if e := <-b.Events(); !e.Missed {
				t.Errorf("the first event after a restart is %+v", e)
			}
		}
		if got, err := b.Observe(ctx); err != nil || len(got) != 0 {
			t.Errorf("a new helper serves %v, %v", got, err)
		}
	}
}
