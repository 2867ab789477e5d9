package badinput

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/packet"
	"taproom/internal/qemu/emutest"
)

// plug puts a NIC called eth0 of another namespace on a bridge.
func (w *world) plug(bridge, link string, ns *hosttest.NS) {
	w.t.Helper()
	hosttest.Veth(w.NS, link, ns, "eth0")
	w.NS.Run("ip", "link", "set", "dev", link, "master", bridge)
}

// lies are frames that a guest should not send: requests of strangers, lengths that are not true, and noise.
func lies(t *testing.T) [][]byte {
	t.Helper()
	var frames [][]byte
	for i := range 64 {
		mac := packet.MAC{0x52, 0x54, 0, 1, byte(i >> 3), byte(i)}
		kind := []dhcpv4.MessageType{dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeDecline, dhcpv4.MessageTypeRelease}[i%4]
		m, err := dhcpv4.New(dhcpv4.WithHwAddr(mac[:]), dhcpv4.WithMessageType(kind))
		must(t, err)
		d := packet.Datagram{
			From: mac, To: packet.Broadcast(), Payload: m.ToBytes(),
			Src: netip.MustParseAddrPort("0.0.0.0:68"), Dst: netip.MustParseAddrPort("255.255.255.255:67"),
		}
		f := d.Frame()
		switch i % 8 {
		case 4:
			f[16], f[17] = 0xff, 0xff // longer than it is
		case 5:
			f = f[:60] // cut short
		case 6:
			f[42+28+3] ^= 0xff // for somebody else
		case 7:
			f[42+240] = 0 // options that are none
		}
		frames = append(frames, f)
	}
	return frames
}

// shout sends frames without end from a namespace's eth0 until stop is closed, and returns how many.
func shout(ns *hosttest.NS, frames [][]byte, stop <-chan struct{}) (sent int, err error) {
	var fd int
	request, err := unix.NewIfreq("eth0")
	if err != nil {
		return 0, err
	}
	ns.Do(func() {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err == nil {
			err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request)
		}
	})
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	for ; ; sent++ {
		select {
		case <-stop:
			return sent, nil
		default:
		}
		err := unix.Sendto(fd, frames[sent%len(frames)], 0, &unix.SockaddrLinklayer{Ifindex: int(request.Uint32())})
		if err != nil && err != unix.ENOBUFS {
			return sent, err
		}
	}
}

func TestAFloodOfLyingGuestsOnOneNetworkDisturbsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	var loud remote.Network
	must(t, w.call(remote.ProcNetworkDefineXML, &remote.String{S: network("loud", "virbr-loud", "192.168.98")}, &loud))
	must(t, w.call(remote.ProcNetworkCreate, &loud, &xdr.Void{}))
	liar, client := hosttest.NewNS(t), hosttest.NewNS(t)
	w.plug("virbr-loud", "liar0", liar)
	w.plug("virbr-quiet", "client0", client)
	stop := make(chan struct{})
	type end struct {
		sent int
		err  error
	}
	over := make(chan end, 1)
	go func() {
		sent, err := shout(liar, lies(t), stop)
		over <- end{sent, err}
	}()
	begin := time.Now()
	out, err := client.Try("busybox", "udhcpc", "-f", "-q", "-n", "-i", "eth0", "-t", "10", "-T", "1", "-s", "/bin/true")
	if took := time.Since(begin); err != nil || took > emutest.Patience() {
		t.Errorf("a lease on the other network took %v: %s, %v", took, out, err)
	}
	if _, err := w.c.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*emutest.Patience() {
		t.Errorf("with the daemon's answer it took %v", took)
	}
	if kib := w.helperKiB(); kib > 64<<10 {
		t.Errorf("the DHCP helper takes %d KiB", kib)
	}
	close(stop)
	if e := <-over; e.err != nil || e.sent < 1000 {
		t.Errorf("the flood was of %d frames, %v", e.sent, e.err)
	}
	w.NS.Shell("ip link delete liar0; ip link delete client0")
	must(t, w.call(remote.ProcNetworkDestroy, &loud, &xdr.Void{}))
	must(t, w.call(remote.ProcNetworkUndefine, &loud, &xdr.Void{}))
	w.unchanged(t, before)
}

// helperKiB is the memory of the process that answers DHCP.
func (w *world) helperKiB() int {
	for _, line := range w.cgroups() {
		pid, ok := strings.CutPrefix(line, `cgroup /vnet "`)
		if !ok {
			continue
		}
		pid, _, _ = strings.Cut(pid, `\n`)
		b, err := os.ReadFile("/proc/" + pid + "/status")
		must(w.t, err)
		_, rest, _ := strings.Cut(string(b), "VmRSS:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		must(w.t, err)
		return n
	}
	w.t.Error("there is no DHCP helper")
	return 0
}
