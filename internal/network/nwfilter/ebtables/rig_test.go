package ebtables

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/host/xtables"
	"taproom/internal/network/nwfilter"
	"taproom/internal/network/packet"
	"taproom/internal/spec"
)

// compiled is a port whose filter is the first of some documents.
func compiled(t *testing.T, name string, p nwfilter.Params, docs ...string) nwfilter.Port {
	t.Helper()
	set := nwfilter.Set{}
	root := ""
	for _, doc := range docs {
		f, err := spec.ParseFilter([]byte(doc))
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		set[f.Name] = f
		if root == "" {
			root = f.Name
		}
	}
	program, values, err := nwfilter.Compile(set, root, p)
	if err != nil {
		t.Fatal(err)
	}
	return nwfilter.Port{Name: name, Program: program, Values: values}
}

// clean lets a guest be nobody but itself, and lets others reach its ssh alone.
func clean() []string {
	return []string{
		`<filter name='clean' chain='root'>
			<rule action='drop' direction='out' priority='-700'><mac match='no' srcmacaddr='$MAC'/></rule>
			<filterref filter='no-arp'/>
			<rule action='drop' direction='out' priority='100'><ip match='no' srcipaddr='$IP'/></rule>
			<rule action='accept' direction='in' priority='200'><tcp dstportstart='22'/></rule>
			<rule action='drop' direction='in' priority='300'><tcp/></rule>
			<rule action='drop' direction='in' priority='300'><tcp-ipv6 dstportstart='1' dstportend='1023'/></rule>
		</filter>`,
		`<filter name='no-arp' chain='arp' priority='-500'>
			<rule action='return' direction='out' priority='100'><arp arpsrcmacaddr='$MAC' arpsrcipaddr='$IP'/></rule>
			<rule action='drop' direction='out' priority='200'><arp/></rule>
		</filter>`,
	}
}

func params(ips ...string) nwfilter.Params {
	return nwfilter.Params{"MAC": {"52:54:00:00:00:01"}, "IP": ips}
}

// rig is a bridge with two guests' taps, and an empty back end.
type rig struct {
	t       *testing.T
	ns      *hosttest.NS
	b       *Backend
	one     *host.Tap // the filtered one
	two     *host.Tap
	markers uint64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, ns: hosttest.NewNS(t)}
	r.ns.Keep("link br0", "table *")
	r.ns.Shell("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1; ip link add br0 type bridge mcast_snooping 0; ip link set br0 up")
	for name, tap := range map[string]**host.Tap{"vnet1": &r.one, "vnet2": &r.two} {
		made, err := r.ns.Kernel().CreateTap(host.TapSpec{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = made.Close() })
		r.ns.Shell("ip link set " + name + " master br0 up; ip link set " + name + " type bridge_slave learning off")
		*tap = made
	}
	r.b = New(r.ns.Kernel(), xtables.New(r.ns.Kernel(), xtables.HostChoice))
	return r
}

func (r *rig) apply(changes []nwfilter.Port, gone ...string) {
	r.t.Helper()
	if err := r.b.Apply(r.t.Context(), changes, gone); err != nil {
		r.t.Fatal(err)
	}
}

// passes reports whether a frame of one guest comes to the other: whether it does before another frame that every filter here lets through.
func (r *rig) passes(d nwfilter.Direction, frame []byte) bool {
	r.t.Helper()
	from, to := r.one.Files[0], r.two.Files[0]
	source := byte(1)
	if d == nwfilter.In {
		from, to, source = to, from, 2
	}
	r.markers++
	marker := append([]byte{0x52, 0x54, 0, 0, 0, 9, 0x52, 0x54, 0, 0, 0, source, 0x88, 0xb5}, binary.BigEndian.AppendUint64(nil, r.markers)...)
	for _, f := range [][]byte{frame, marker} {
		if _, err := from.Write(f); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.before(to, frame, marker)
}

func (r *rig) before(to *os.File, frame, marker []byte) bool {
	r.t.Helper()
	if err := to.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		r.t.Fatal(err)
	}
	came := false
	for b := make([]byte, 2048); ; {
		n, err := to.Read(b)
		if err != nil {
			r.t.Fatalf("wait for the frame behind: %v", err)
		}
		if bytes.Equal(b[:n], marker) {
			return came
		}
		came = came || bytes.Equal(b[:n], frame)
	}
}

func card(n byte) packet.MAC { return packet.MAC{0x52, 0x54, 0, 0, 0, n} }

func arp(mac packet.MAC, sender string) []byte {
	a := packet.ARP{
		From: mac, To: packet.Broadcast(), Op: packet.ARPRequest, SenderMAC: mac, Sender: netip.MustParseAddr(sender), Target: netip.MustParseAddr("10.0.0.99"),
	}
	return a.Frame()
}

func tcp(from, to byte, src, dst string, port uint16) []byte {
	return packet.Probe{From: card(from), To: card(to), Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst), Sport: 1024, Port: port}.Frame()
}
