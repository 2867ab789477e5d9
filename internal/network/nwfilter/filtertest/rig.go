package filtertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// Names of the links of a Rig.
const (
	Bridge = "ftbr0"
	Guest  = "ftguest" // the port that is filtered
	Peer   = "ftpeer"  // one that is not
)

// batch is how many frames are under way before they are read: a tap keeps 1000 (drivers/net/tun.c, TUN_READQ_SIZE).
const batch = 400

// patience is the last resort against a frame that never comes.
const patience = 5 * time.Minute

// Rig is a bridge in a namespace of its own, with two taps.
type Rig struct {
	t       testing.TB
	NS      *hosttest.NS
	Backend nwfilter.Backend
	guest   *host.Tap
	peer    *host.Tap
	raw     int // a packet socket
	indexes map[string]int
	markers uint64
}

// NewRig makes one, and a back end by open.
func NewRig(t testing.TB, open func(testing.TB, *hosttest.NS) nwfilter.Backend) *Rig {
	t.Helper()
	ns := hosttest.NewNS(t)
	r := &Rig{t: t, NS: ns, indexes: map[string]int{}}
	ns.Keep("link "+Bridge, "link "+Guest, "link "+Peer, "table *")
	ns.Shell("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 || true")
	ns.Run("ip", "link", "add", Bridge, "type", "bridge", "stp_state", "0", "mcast_snooping", "0", "forward_delay", "0")
	for name, tap := range map[string]**host.Tap{Guest: &r.guest, Peer: &r.peer} {
		made, err := ns.Kernel().CreateTap(host.TapSpec{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		*tap = made
		r.indexes[name] = made.Index
		t.Cleanup(func() { _ = made.Close() })
		ns.Run("tc", "qdisc", "replace", "dev", name, "root", "pfifo", "limit", "10000")
		ns.Run("ip", "link", "set", name, "master", Bridge, "up")
		ns.Run("ip", "link", "set", name, "type", "bridge_slave", "learning", "off")
	}
	ns.Run("ip", "link", "set", Bridge, "up")
	link, err := ns.Kernel().LinkByName(Bridge)
	if err != nil {
		t.Fatal(err)
	}
	r.indexes[Bridge] = link.Index
	ns.Do(func() { r.raw, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(r.raw) })
	r.Through(false)
	r.Backend = open(t, ns)
	return r
}

// Through says whether bridged packets pass the hooks of IP, where connections are tracked.
func (r *Rig) Through(yes bool) {
	r.t.Helper()
	for _, name := range []string{"iptables", "ip6tables", "arptables"} {
		path := "net/bridge/bridge-nf-call-" + name
		if _, err := r.NS.Kernel().Sysctl(path); err != nil {
			continue // no br_netfilter here
		}
		value := "0"
		if yes {
			value = "1"
		}
		if err := r.NS.Kernel().SetSysctl(path, value); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Compile compiles documents of filters, of which the first is the port's.
func (r *Rig) Compile(params nwfilter.Params, docs ...string) nwfilter.Port {
	r.t.Helper()
	p, err := compile(params, docs...)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func compile(params nwfilter.Params, docs ...string) (nwfilter.Port, error) {
	set := nwfilter.Set{}
	root := ""
	for _, doc := range docs {
		f, err := spec.ParseFilter([]byte(doc))
		if err != nil {
			return nwfilter.Port{}, fmt.Errorf("%w\n%s", err, doc)
		}
		set[f.Name] = f
		if root == "" {
			root = f.Name
		}
	}
	program, values, err := nwfilter.Compile(set, root, params)
	if err != nil {
		return nwfilter.Port{}, fmt.Errorf("%w\n%v", err, docs)
	}
	return nwfilter.Port{Name: Guest, Program: program, Values: values}, nil
}

// Apply applies a port's filter, or fails the test.
func (r *Rig) Apply(p nwfilter.Port) {
	r.t.Helper()
	if err := r.Backend.Apply(context.Background(), []nwfilter.Port{p}, nil); err != nil {
		r.t.Fatal(err)
	}
}

// Judge sends frames from the guest, or to it, and returns which came through.
func (r *Rig) Judge(d nwfilter.Direction, frames [][]byte) []bool {
	r.t.Helper()
	from, to := r.guest, r.peer
	if d == nwfilter.In {
		from, to = r.peer, r.guest
	}
	return r.judge(frames, to, func(f []byte) error {
		_, err := from.Files[0].Write(f)
		return err
	})
}

// FromHost sends frames from the host to the guest, and returns which came through.
func (r *Rig) FromHost(frames [][]byte) []bool {
	r.t.Helper()
	return r.judge(frames, r.guest, func(f []byte) error { return r.send(Bridge, f) })
}

// send hands the kernel a frame to be sent by a link.
func (r *Rig) send(link string, f []byte) error {
	return unix.Sendto(r.raw, f, 0, &unix.SockaddrLinklayer{Ifindex: r.indexes[link], Halen: 6})
}

func (r *Rig) judge(frames [][]byte, to *host.Tap, send func([]byte) error) []bool {
	r.t.Helper()
	came := make([]bool, len(frames))
	for first := 0; first < len(frames); first += batch {
		last := min(first+batch, len(frames))
		got := r.at(to, func() {
			for i := first; i < last; i++ {
				if err := send(frames[i]); err != nil {
					r.t.Fatalf("send %x: %v", frames[i], err)
				}
			}
		})
		next := first
		for _, b := range got {
			for i := next; i < last; i++ {
				if bytes.Equal(frames[i], b) {
					came[i], next = true, i+1
					break
				}
			}
		}
	}
	return came
}

// AtGuest returns what comes to the guest while send runs, and that the call makes.
func (r *Rig) AtGuest(send func()) [][]byte { return r.at(r.guest, send) }

func (r *Rig) at(tap *host.Tap, send func()) [][]byte {
	r.t.Helper()
	r.read(tap) // what another call has left there: the host's frames are flooded to the peer too
	send()
	return r.read(tap)
}

// read reads what came to a tap, up to a marker. That is handed to the tap itself, behind all that the bridge has put in its
// queue: a frame passes a bridge, and its filters, in the call that sends it.
func (r *Rig) read(tap *host.Tap) (got [][]byte) {
	r.t.Helper()
	r.markers++
	marker := binary.BigEndian.AppendUint64([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\xb5marker"), r.markers)
	if err := r.send(tap.Name, marker); err != nil {
		r.t.Fatal(err)
	}
	if err := tap.Files[0].SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	b := make([]byte, 1<<16)
	for {
		n, err := tap.Files[0].Read(b)
		if err != nil {
			r.t.Fatalf("read of %s until the marker: %v", tap.Name, err)
		}
		if bytes.Equal(b[:n], marker) {
			return got
		}
		got = append(got, bytes.Clone(b[:n]))
	}
}
