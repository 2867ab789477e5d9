package appliance

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/appliance/pid1/pid1test"
	"taproom/internal/appliance/wire"
	"taproom/internal/qemu/emutest"
)

// timeout ends a test that boots a guest, asks it much and boots it again.
func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := emutest.Watch(t.Context(), 4, nil)
	t.Cleanup(cancel)
	return ctx
}

// userNIC returns the options of a NIC with a network of its own, 10.0.N.0/24, and QEMU's DHCP server in it.
func userNIC(n int, model, more string) []string {
	return []string{
		"-netdev", fmt.Sprintf("user,id=n%d,net=10.0.%d.0/24%s", n, n, more),
		"-device", fmt.Sprintf("%s,netdev=n%d,mac=52:54:00:00:00:%02x", model, n, n),
	}
}

func TestGuestServesEveryKindOfNICAndDiskAndPowersOffByACPI(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	serveEverything(ctx, t, testGuest(t, ctx))
}

// serveEverything boots a guest with all that QEMU has for it.
func serveEverything(ctx context.Context, t *testing.T, g Guest) {
	t.Helper()
	args := slices.Concat(
		userNIC(11, "virtio-net-pci", ""), userNIC(12, "e1000", ""), userNIC(13, "e1000e", ""), userNIC(14, "rtl8139", ""),
		[]string{
			"-drive", "if=none,id=d1,format=raw,file=" + disk(t, "virtio"), "-device", "virtio-blk-pci,drive=d1,serial=VIRTIO1",
			"-drive", "if=none,id=d2,format=raw,file=" + disk(t, "sata"), "-device", "ide-hd,bus=ide.1,drive=d2,serial=SATA2",
			"-device", "virtio-scsi-pci,id=scsi0", "-device", "pcie-root-port,id=port1,chassis=1",
			"-netdev", "user,id=n16,net=10.0.16.0/24",
			"-drive", "if=none,id=d3,format=raw,readonly=on,file=" + disk(t, "scsi"),
			"-device", "scsi-hd,bus=scsi0.0,drive=d3,serial=SCSI3",
			"-drive", "if=none,id=d4,format=raw,readonly=on,file=" + disk(t, "cdrom"), "-device", "ide-cd,bus=ide.2,drive=d4,serial=CD4",
			"-object", "rng-random,id=rng0,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng0",
			"-device", "virtio-balloon-pci",
		})
	m := boot(ctx, t, g, "q35", args...)
	t.Logf("q35, everything plugged in: exec to agent hello %v", m.ready)

	t.Run("hello", func(t *testing.T) {
		h, err := m.agent.WaitReady(ctx, emutest.Patience())
		if err != nil {
			t.Fatal(err)
		}
		if !h.Ready || h.Version != pid1test.Version || h.BootID == "" || len(h.Steps) < 3 || h.Steps[0].At <= 0 {
			t.Errorf("hello says %+v", h)
		}
	})
	t.Run("every NIC has a lease", func(t *testing.T) {
		n, err := m.agent.WaitNetwork(ctx, 4, emutest.Patience())
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][3]string{
			"52:54:00:00:00:0b": {"virtio_net", "10.0.11.15/24", "10.0.11.2"},
			"52:54:00:00:00:0c": {"e1000", "10.0.12.15/24", "10.0.12.2"},
			"52:54:00:00:00:0d": {"e1000e", "10.0.13.15/24", "10.0.13.2"},
			"52:54:00:00:00:0e": {"8139cp", "10.0.14.15/24", "10.0.14.2"},
		}
		if diff := cmp.Diff(want, leases(n)); diff != "" {
			t.Errorf("leases (-want +got):\n%s", diff)
		}
		if got, want := len(n.Routes), 8; got != want {
			t.Errorf("%d routes, want %d (a network and a default for each NIC): %+v", got, want, n.Routes)
		}
	})
	t.Run("every disk is listed", func(t *testing.T) { checkDisks(ctx, t, m) })
	t.Run("hot-plugged disk and NIC", func(t *testing.T) { checkHotPlug(ctx, t, m) })
	t.Run("console answers", func(t *testing.T) { checkConsole(t, m) })
	t.Run("power button", func(t *testing.T) {
		m.command(t, "system_powerdown", nil)
		if data := m.event(ctx, t, "SHUTDOWN"); data["guest"] != true || data["reason"] != "guest-shutdown" {
			t.Errorf("QEMU says %v, want a shutdown by the guest", data)
		}
		m.wait(ctx, t)
	})
	if out := m.console.String(); !strings.Contains(out, "taproom guest ready") || !strings.Contains(out, "power button") {
		t.Errorf("console says:\n%s", out)
	}
}

// leases maps MAC addresses to driver, leased address and router.
func leases(n wire.Network) map[string][3]string {
	got := map[string][3]string{}
	for _, nic := range n.NICs {
		got[nic.MAC] = [3]string{nic.Driver}
		if l := nic.Lease; l != nil && len(l.Routers) == 1 && slices.Contains(nic.Addresses, l.Address) {
			got[nic.MAC] = [3]string{nic.Driver, l.Address, l.Routers[0]}
		}
	}
	return got
}

// checkDisks looks until all of them are there: where a drive does not answer soon enough on a busy host, the kernel asks it
// again after a while, and adds it as if it had been plugged in then.
func checkDisks(ctx context.Context, t *testing.T, m *machine) {
	t.Helper()
	want := map[string]wire.Block{
		"VIRTIO1": {Name: "vd", Bytes: 1 << 20, Driver: "virtio_blk", SHA256: headHash("virtio")},
		"SATA2":   {Name: "sd", Bytes: 1 << 20, Driver: "sd", SHA256: headHash("sata")},
		"SCSI3":   {Name: "sd", Bytes: 1 << 20, Driver: "sd", SHA256: headHash("scsi"), ReadOnly: true},
		// An ATAPI drive shows no serial number to SCSI.
		"": {Name: "sr", Bytes: 1 << 20, Driver: "sr", SHA256: headHash("cdrom"), CDROM: true, ReadOnly: true},
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	late, cancel := emutest.Context(ctx)
	defer cancel()
	for ; ; <-again.C {
		list, err := m.agent.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]wire.Block{}
		for _, b := range list {
			serial := b.Serial
			b.Name, b.Serial = b.Name[:2], ""
			got[serial] = b
		}
		if diff := cmp.Diff(want, got); diff == "" {
			return
		} else if late.Err() != nil {
			t.Fatalf("disks by serial (-want +got):\n%s", diff)
		}
	}
}

func TestGuestMovesDataRestartsAndCrashesOnRequest(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	moveRestartCrash(ctx, t, testGuest(t, ctx))
}

// moveRestartCrash boots a guest and has it do what ends in a crash.
func moveRestartCrash(ctx context.Context, t *testing.T, g Guest) {
	t.Helper()
	forward := freePort(t)
	m := boot(ctx, t, g, "pc", slices.Concat(
		userNIC(15, "virtio-net-pci", fmt.Sprintf(",hostfwd=tcp:127.0.0.1:%d-:7007", forward)),
		[]string{
			"-drive", "if=none,id=d1,format=raw,file=" + disk(t, "ide"), "-device", "ide-hd,drive=d1,serial=IDE1",
			"-device", "pvpanic",
		})...)
	t.Logf("pc: exec to agent hello %v", m.ready)
	if _, err := m.agent.WaitReady(ctx, emutest.Patience()); err != nil {
		t.Fatal(err)
	}
	n, err := m.agent.WaitNetwork(ctx, 1, emutest.Patience())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][3]string{"52:54:00:00:00:0f": {"virtio_net", "10.0.15.15/24", "10.0.15.2"}}
	if diff := cmp.Diff(want, leases(n)); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	t.Run("guest to host", func(t *testing.T) { checkTraffic(ctx, t, m) })
	t.Run("host to guest", func(t *testing.T) { checkListen(ctx, t, m, forward) })
	t.Run("disk keeps a pattern", func(t *testing.T) { checkPattern(ctx, t, m) })
	t.Run("greeting sets the clock", func(t *testing.T) {
		if err := m.agent.Greet(ctx); err != nil {
			t.Fatal(err)
		}
		s, err := m.agent.System(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Since(time.Unix(0, s.UnixNano)).Abs(); off > emutest.Patience() || s.CPUs != 1 || s.MemoryKiB < 128<<10 {
			t.Errorf("clock is off by %v; system says %+v", off, s)
		}
	})
	t.Run("refusals name the reason", func(t *testing.T) {
		_, err := m.agent.ReadBlock(ctx, wire.BlockTest{Name: "../sda", Bytes: 1})
		if err == nil || !strings.Contains(err.Error(), "../sda") {
			t.Errorf("a path as a disk's name: %v", err)
		}
		if err := m.agent.Do(ctx, "exec", map[string]string{"command": "id"}, nil); err == nil {
			t.Error("the agent offers exec")
		}
	})
	t.Run("host process that dies in a frame", func(t *testing.T) { checkReconnect(ctx, t, m) })
	t.Run("Ctrl-Alt-Del", func(t *testing.T) {
		m.command(t, "send-key", map[string]any{"keys": []map[string]string{
			{"type": "qcode", "data": "ctrl"}, {"type": "qcode", "data": "alt"}, {"type": "qcode", "data": "delete"},
		}})
		if data := m.event(ctx, t, "RESET"); data["guest"] != true {
			t.Errorf("QEMU says %v, want a reset by the guest", data)
		}
		if !strings.Contains(m.console.String(), "Ctrl-Alt-Del") {
			t.Errorf("the kernel restarted without its first process; console:\n%s", m.console)
		}
	})
	t.Run("reboot", func(t *testing.T) { checkReboot(ctx, t, m) })
	t.Run("crash", func(t *testing.T) {
		if err := m.agent.Crash(ctx); err != nil {
			t.Fatal(err)
		}
		m.event(ctx, t, "GUEST_PANICKED")
	})
}

func checkTraffic(ctx context.Context, t *testing.T, m *machine) {
	t.Helper()
	tcp, udp := echoServers(t)
	// QEMU answers for the machine's own loopback at 10.0.15.2.
	r, err := m.agent.Traffic(ctx, wire.Traffic{Protocol: "tcp", Address: "10.0.15.2:" + tcp, Bytes: 2 << 20})
	if err != nil || r.Sent != 2<<20 || r.Received != 2<<20 || r.Mbits <= 0 {
		t.Errorf("TCP: %+v, %v", r, err)
	}
	r, err = m.agent.Traffic(ctx, wire.Traffic{Protocol: "udp", Address: "10.0.15.2:" + udp, Packets: 200, Size: 512})
	if err != nil || r.PacketsBack != 200 || r.Lost != 0 || r.Corrupt != 0 || r.RTTMin <= 0 {
		t.Errorf("UDP: %+v, %v", r, err)
	}
}

// echoServers echo on loopback until the test ends.
func echoServers(t *testing.T) (tcp, udp string) {
	t.Helper()
	var tasks sync.WaitGroup
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		_ = p.Close()
		tasks.Wait()
	})
	tasks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	tasks.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(buf[:n], from)
		}
	})
	port := func(a net.Addr) string { return fmt.Sprint(netip.MustParseAddrPort(a.String()).Port()) }
	return port(l.Addr()), port(p.LocalAddr())
}

func checkListen(ctx context.Context, t *testing.T, m *machine, forward int) {
	t.Helper()
	if port, err := m.agent.Listen(ctx, wire.Listen{Protocol: "tcp", Port: 7007}); err != nil || port != 7007 {
		t.Fatalf("listen: port %d, %v", port, err)
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", forward))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write([]byte("echo this")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 9)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "echo this" {
		t.Errorf("the guest echoes %q, %v", got, err)
	}
}

func checkPattern(ctx context.Context, t *testing.T, m *machine) {
	t.Helper()
	b := wire.BlockTest{Name: "sda", Offset: 8192, Bytes: 512 << 10, Seed: 7}
	wrote, err := m.agent.WriteBlock(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	read, err := m.agent.ReadBlock(ctx, b)
	if err != nil || !read.Match || read.SHA256 != wrote.SHA256 {
		t.Errorf("wrote %+v, read %+v, %v", wrote, read, err)
	}
	b.Seed = 8
	if read, err := m.agent.ReadBlock(ctx, b); err != nil || read.Match {
		t.Errorf("another pattern: %+v, %v", read, err)
	}
}

func checkReboot(ctx context.Context, t *testing.T, m *machine) {
	t.Helper()
	before, err := m.agent.Hello(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m.command(t, "query-status", nil) // takes the events of the restart before: the firmware resets once more
	if err := m.agent.Reboot(ctx); err != nil {
		t.Fatal(err)
	}
	if data := m.event(ctx, t, "RESET"); data["guest"] != true {
		t.Errorf("QEMU says %v, want a reset by the guest", data)
	}
	after, err := m.agent.WaitReady(ctx, emutest.Patience()) // the same connection: it belongs to the machine, not to the boot
	if err != nil {
		t.Fatal(err)
	}
	if after.BootID == before.BootID || after.BootID == "" {
		t.Errorf("boot %q before, %q after", before.BootID, after.BootID)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return int(netip.MustParseAddrPort(l.Addr().String()).Port())
}

func checkHotPlug(ctx context.Context, t *testing.T, m *machine) {
	t.Helper()
	m.command(t, "blockdev-add", map[string]any{
		"node-name": "hot", "driver": "file", "filename": disk(t, "hot"),
	})
	m.command(t, "device_add", map[string]any{"driver": "scsi-hd", "bus": "scsi0.0", "drive": "hot", "serial": "HOT5"})
	m.command(t, "device_add", map[string]any{
		"driver": "virtio-net-pci", "bus": "port1", "netdev": "n16", "mac": "52:54:00:00:00:10",
	})
	n, err := m.agent.WaitNetwork(ctx, 5, emutest.Patience())
	if err != nil {
		t.Fatal(err)
	}
	want := [3]string{"virtio_net", "10.0.16.15/24", "10.0.16.2"}
	if got := leases(n)["52:54:00:00:00:10"]; got != want {
		t.Errorf("hot-plugged NIC: got %v, want %v", got, want)
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	late, cancel := emutest.Context(ctx)
	defer cancel()
	for ; ; <-again.C { // it was plugged in first, and looking for it takes longer
		list, err := m.agent.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(list, func(b wire.Block) bool { return b.Serial == "HOT5" })
		if at >= 0 && list[at].SHA256 == headHash("hot") {
			return
		}
		if late.Err() != nil {
			t.Fatalf("hot-plugged disk: not in %+v", list)
		}
	}
}

func checkConsole(t *testing.T, m *machine) {
	t.Helper()
	for typed, want := range map[string]string{
		"help\n": "help +show this", "ip\n": "eth0 52:54:00:00:00:0b 10.0.11.15/24",
		"anyone there?\n": "you typed: anyone there",
	} {
		if _, err := io.WriteString(m.keyboard, typed); err != nil {
			t.Fatal(err)
		}
		m.console.await(t, want)
	}
}
