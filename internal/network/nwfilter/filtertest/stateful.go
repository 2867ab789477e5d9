package filtertest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"taproom/internal/network/nwfilter"
)

// connections holds that rules see the state of connections: between guests through the bridge, and with the host.
func connections(t *testing.T, r *Rig) {
	r.Through(true)
	r.Apply(r.Compile(nil, rules("f", "root", `<rule action='accept' direction='in' priority='100'><udp dstportstart='53'/></rule>`+
		`<rule action='accept' direction='in' priority='100'><udp-ipv6 dstportstart='53'/></rule>`+
		`<rule action='drop' direction='inout' priority='500'><all/></rule><rule action='drop' direction='inout' priority='500'><all-ipv6/></rule>`)))
	four := func(src, dst string, sport, dport int) [][]byte {
		return [][]byte{ip4{src: src, dst: dst, proto: 17, payload: udp(sport, dport)}.frame()}
	}
	six := func(src, dst string, sport, dport int) [][]byte {
		f := ip6{src: src, dst: dst, next: 17, payload: udp(sport, dport)}.frame()
		pseudo := join(ip(src), ip(dst), u32(12), u32(17), f[54:])
		copy(f[60:62], u16(int(checksum(pseudo))))
		return [][]byte{f}
	}
	for _, c := range []struct {
		name   string
		d      nwfilter.Direction
		frames [][]byte
		pass   bool
	}{
		{"the guest's port speaks unasked", nwfilter.Out, four(ipB, ipA, 53, 4000), false},
		{"a question to another port", nwfilter.In, four(ipA, ipB, 4001, 54), false},
		{"a question", nwfilter.In, four(ipA, ipB, 4001, 53), true},
		{"its answer", nwfilter.Out, four(ipB, ipA, 53, 4001), true},
		{"the question again", nwfilter.In, four(ipA, ipB, 4001, 53), true},
		{"an answer to somebody else", nwfilter.Out, four(ipB, "10.0.0.99", 53, 4001), false},
		{"the guest's port speaks unasked, IPv6", nwfilter.Out, six(ip6B, ip6A, 53, 4000), false},
		{"a question, IPv6", nwfilter.In, six(ip6A, ip6B, 4001, 53), true},
		{"its answer, IPv6", nwfilter.Out, six(ip6B, ip6A, 53, 4001), true},
	} {
		if got := r.Judge(c.d, c.frames); got[0] != c.pass {
			t.Errorf("%s: came through %v, want %v", c.name, got[0], c.pass)
		}
	}
	r.NS.Run("ip", "addr", "add", "10.0.0.1/24", "dev", Bridge)
	r.NS.Run("ip", "neigh", "add", ipB, "lladdr", macB, "dev", Bridge, "nud", "permanent")
	for to, pass := range map[string]bool{ipB + ":53": true, ipB + ":54": false} {
		said := []byte("to " + to)
		got := r.AtGuest(func() {
			r.NS.Do(func() {
				c, err := net.Dial("udp", to)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = c.Write(said)
				if err = errors.Join(err, c.Close()); err != nil {
					t.Error(err)
				}
			})
		})
		came := false
		for _, f := range got {
			came = came || bytes.Contains(f, said)
		}
		if came != pass {
			t.Errorf("a question of the host to %s: came through %v, want %v", to, came, pass)
		}
	}
}

// reserved holds that packets in frames to a group that bridges keep to themselves do not reach the host past a filter. The kernel
// takes them as the port's own, so the port has an address here.
func reserved(t *testing.T, r *Rig) {
	r.NS.Run("ip", "addr", "add", "10.9.9.1/24", "dev", Guest)
	var host net.PacketConn
	var err error
	r.NS.Do(func() { host, err = net.ListenPacket("udp", "10.9.9.1:9") })
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	say := func(s string) {
		t.Helper()
		body := join(u16(9), u16(9), u16(8+len(s)), u16(0), []byte(s))
		f := ip4{src: "10.9.9.2", dst: "10.9.9.1", dmac: "01:80:c2:00:00:0e", proto: 17, payload: body}.frame()
		if _, err := r.guest.Files[0].Write(f); err != nil {
			t.Fatal(err)
		}
	}
	heard := func(want string) {
		t.Helper()
		b := make([]byte, 100)
		if err := host.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, _, err := host.ReadFrom(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("the host heard %q (%v), want %q", b[:n], err, want)
		}
	}
	say("not filtered yet")
	heard("not filtered yet")
	r.Apply(r.Compile(nil, rules("f", "root", `<rule action='drop' direction='out' priority='100'><tcp/></rule>`)))
	say("filtered")
	if err := r.Backend.Apply(context.Background(), nil, []string{Guest}); err != nil {
		t.Fatal(err)
	}
	say("no longer filtered")
	heard("no longer filtered")
}

// redefined holds that no frame gets through, and none is lost, while a filter is replaced by another that says the same of it.
func redefined(t *testing.T, r *Rig) {
	docs := []string{
		rules("f", "root", `<rule action='drop' direction='inout' priority='100'><arp/></rule>`),
		rules("f", "root", `<rule action='accept' direction='inout' priority='100'><ip/></rule><rule action='drop' direction='inout' priority='200'/>`),
	}
	ports := make([]nwfilter.Port, len(docs))
	for i, doc := range docs {
		ports[i] = r.Compile(nil, doc)
	}
	r.Apply(ports[0])
	done := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := r.Backend.Apply(context.Background(), ports[i%2:i%2+1], nil); err != nil {
				done <- err
				<-stop
				return
			}
		}
	}()
	var frames [][]byte
	for i := range batch / 2 {
		frames = append(frames, arpFor(0x0806, 1, macA, ipA, macB, ipB), ip4{proto: 17, payload: udp(1, i+1)}.frame())
	}
	for range 20 {
		for i, came := range r.Judge(nwfilter.Out, frames) {
			if came != (i%2 == 1) {
				t.Errorf("frame %d (of ARP %v): came through %v", i, i%2 == 0, came)
			}
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
