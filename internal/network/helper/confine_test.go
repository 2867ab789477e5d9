package helper_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/network/dhcp4"
	"taproom/internal/network/helper"
	"taproom/internal/network/packet"
	"taproom/internal/spec"
)

func TestTheHelperCanDoNothingButAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	pid := s.h.Hello().PID
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) < 2 {
		t.Fatalf("threads %v, %v", tasks, err)
	}
	want := fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nGid:\t%[2]d\t%[2]d\t%[2]d\t%[2]d\nGroups:\t \n", s.o.UID, s.o.GID) +
		"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"
	line := regexp.MustCompile(`(?m)^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs):.*\n`)
	for _, task := range tasks { // every thread, since most of this belongs to a thread
		b, err := os.ReadFile(task)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(bytes.Join(line.FindAll(b, -1), nil)); got != want {
			t.Errorf("%s says\n%s\nwant\n%s", task, got, want)
		}
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root", pid))
	if err != nil || len(entries) != 0 {
		t.Errorf("its root holds %v, %v", entries, err)
	}
	_, err = host.LandlockABI()
	if got := s.h.Hello().Landlock; (got == "enforced") != (err == nil) {
		t.Errorf("Landlock is %q where the kernel says %v", got, err)
	}
}

func TestTheFilterOfThePacketSocketCannotBeTakenOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serve(seven())
	f, err := helper.OpenFrames(s.o.Kernel, index)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.SetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("detaching the filter: %v", err)
	}
}

// TestAFloodInOneNetworkDoesNotDelayAnother sends more than a network may, as fast as one CPU can, while a client of
// another network gets its address.
func TestAFloodInOneNetworkDoesNotDelayAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	s.serve(eight())
	flooder, quiet := s.guest("virbr7", "52:54:00:00:00:01"), s.guest("virbr8", "52:54:00:00:00:02")
	stop := make(chan struct{})
	done := make(chan struct{})
	var conn net.PacketConn
	var err error
	flooder.ns.Run("ip", "addr", "add", "10.7.0.99/24", "dev", "eth0")
	flooder.ns.Do(func() { conn, err = net.ListenPacket("udp4", "10.7.0.99:68") })
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		defer close(done)
		to := &net.UDPAddr{IP: net.IPv4(10, 7, 0, 1), Port: 67}
		junk := make([]byte, 300)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = conn.WriteTo(junk, to) // a full queue is the point
			}
		}
	}()
	for range 5 {
		_, end := quiet.udhcpc("-q", "-n", "-t", "1", "-T", "3") // one question alone, so a lost one fails
		quiet.want("deconfig", "bound 10.7.0.10")
		end()
	}
	close(stop)
	<-done
	st, err := s.h.Stats(s.ctx, seven().UUID)
	if err != nil || st.Refused[packet.RefuseRate] == 0 || st.Dropped == 0 {
		t.Errorf("the flood was counted as %+v, %v", st, err)
	}
	if b, err := s.h.Stats(s.ctx, eight().UUID); err != nil || b.Dropped != 0 || b.Refused != nil {
		t.Errorf("the other network was counted as %+v, %v", b, err)
	}
}

func TestAThousandNetworksFitIntoOneSmallProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := seven()
	index := s.serve(n)
	for i := range 999 { // all on one bridge: to the helper a network is its socket
		n.UUID = spec.UUID{9, byte(i >> 8), byte(i)}
		n.DHCP4.Hosts = []dhcp4.Host{{MAC: fmt.Sprintf("52:54:00:01:%02x:%02x", i>>8, i&0xff), IP: netip.MustParseAddr("10.7.0.50")}}
		s.set(n, index)
	}
	all, err := s.h.Observe(s.ctx)
	if err != nil || len(all) != 1000 {
		t.Fatalf("%d networks are served: %v", len(all), err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.h.Hello().PID))
	if err != nil {
		t.Fatal(err)
	}
	var kib, threads int
	for line := range strings.Lines(string(b)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &kib) // other lines do not match
		_, _ = fmt.Sscanf(line, "Threads: %d", &threads)
	}
	t.Logf("1000 networks: %d KiB resident, %d threads", kib, threads)
	if kib == 0 || kib > 64<<10 || threads > 64 {
		t.Errorf("1000 networks take %d KiB and %d threads", kib, threads)
	}
}

func TestABridgeThatIsGoneIsSeenAndServedAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(seven())
	s.host.Run("ip", "link", "del", "virbr7")
	got, err := s.h.Observe(s.ctx)
	if err != nil || len(got) != 1 || got[0].Index != -1 {
		t.Errorf("without its bridge the network is observed as %+v, %v", got, err)
	}
	s.serve(seven())
	g := s.guest("virbr7", "52:54:00:00:00:01")
	s.host.Run("ip", "link", "set", "dev", "virbr7", "down")
	s.host.Run("ip", "link", "set", "dev", "virbr7", "up")
	g.udhcpc("-q")
	g.want("deconfig", "bound 10.7.0.10")
}

func TestAConfigurationThatCannotBeServedChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	index := s.serve(seven())
	bad := seven()
	bad.DHCP4.Ranges[0].End = netip.MustParseAddr("10.8.0.1")
	if err := s.h.Set(s.ctx, bad, index); err == nil {
		t.Error("a range outside the network was accepted")
	}
	if err := s.h.Set(s.ctx, seven(), 1<<20); err == nil {
		t.Error("a bridge that does not exist was accepted")
	}
	got, err := s.h.Observe(s.ctx)
	if err != nil || len(got) != 1 || got[0].Fingerprint != seven().Fingerprint() || got[0].Index != index {
		t.Errorf("observed %+v, %v", got, err)
	}
}
