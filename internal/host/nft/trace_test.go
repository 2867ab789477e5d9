package nft

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// frameTo is an echo from 10.99.0.9 to 192.0.2.1 with the given identification, for the given link.
func frameTo(t *testing.T, mac string, id uint16) []byte {
	t.Helper()
	var b []byte
	for _, part := range []string{mac, "525400aa0009", "0800", "4500001c", hex.EncodeToString([]byte{byte(id >> 8), byte(id)}), "0000", "4001", "0000", "0a630009", "c0000201", "0800f7ff00000000"} {
		p, err := hex.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, p...)
	}
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	sum = ^(sum&0xffff + sum>>16)
	b[24], b[25] = byte(sum>>8), byte(sum)
	return b
}

func TestATraceSaysWhichRulesAPacketMet(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	tap, err := k.CreateTap(host.TapSpec{Name: "tap0", VNetHdr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	ns.Shell(`ip link add br0 type bridge; ip link set br0 address 52:54:00:00:00:01 up; ip addr add 10.99.0.1/24 dev br0; ip link set tap0 master br0 up
ip link add out type veth peer name lan; ip link set lan up; ip link set out up; ip addr add 198.51.100.1/24 dev out; ip route add default via 198.51.100.2
echo 1 >/proc/sys/net/ipv4/ip_forward
iptables-nft -N MINE; iptables-nft -A FORWARD -j MINE; iptables-nft -A MINE -i br0 -d 192.0.2.0/24 -j DROP`)
	ns.Keep("link br0", "link out", "link lan", "table ip filter") // of the namespace, with which they go
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tr, err := Trace(ctx, k, "probe-test", "tap0")
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = tr.Close()
		}
	}()
	if err := k.SendByTap(tap.Files[0], frameTo(t, "525400000001", 0x1234), frameTo(t, "525400000001", 0x1235)); err != nil {
		t.Fatal(err)
	}
	var met []string
	for {
		x, err := tr.Next(ctx)
		if err != nil {
			t.Fatalf("%v after %q", err, met)
		}
		if tr.Began(x) && x.MatchesID(0x1235) {
			break
		}
		if x.MatchesID(0x1234) && !tr.Began(x) && x.Family == IPv4 {
			met = append(met, x.Table+" "+x.Chain+" "+x.Verdict)
		}
	}
	want := []string{"filter FORWARD jump", "filter MINE drop"}
	if len(met) < 2 || met[len(met)-2] != want[0] || met[len(met)-1] != want[1] {
		t.Errorf("met %q, want it to end with %q", met, want)
	}
	closed = true
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if left := ns.Run("nft", "list", "tables", "netdev"); left != "" {
		t.Errorf("the tracer left %q", left)
	}
}

func FuzzTraced(f *testing.F) {
	f.Add([]byte{8, 0, 1, 0, 'a', 'b', 'c', 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		x, err := parseTraced(IPv4, b)
		if err == nil {
			_ = x.MatchesID(1)
		}
	})
}
