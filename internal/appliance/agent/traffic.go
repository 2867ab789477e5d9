package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"taproom/internal/appliance/nic"
	"taproom/internal/appliance/wire"
)

const (
	maxTrafficBytes   = 64 << 30
	maxTrafficPackets = 10_000_000
	maxDatagram       = 65507
	minDatagram       = 16 // a number and a time
	// quiet is how long the last datagrams may take to come back.
	quiet = time.Second
	// window bounds how many datagrams are under way: a test that floods a queue measures the queue.
	window = 32
)

// traffic runs a traffic test as its client.
func traffic(ctx context.Context, t wire.Traffic) (wire.TrafficResult, error) {
	if t.Seconds == 0 {
		t.Seconds = 60
	}
	ctx, cancel := context.WithTimeout(ctx, bounded(t.Seconds, maxWait))
	defer cancel()
	if t.Bytes < 0 || t.Bytes > maxTrafficBytes || t.Packets < 0 || t.Packets > maxTrafficPackets || t.Size < 0 || t.Size > 1<<20 {
		return wire.TrafficResult{}, fmt.Errorf("traffic of %d bytes, %d packets of %d: too much", t.Bytes, t.Packets, t.Size)
	}
	if t.Protocol != "tcp" && t.Protocol != "udp" {
		return wire.TrafficResult{}, fmt.Errorf("traffic protocol %q: there are tcp and udp", t.Protocol)
	}
	began := time.Now()
	d := net.Dialer{Control: nic.BindTo(t.Link)}
	conn, err := d.DialContext(ctx, t.Protocol, t.Address)
	if err != nil {
		return wire.TrafficResult{}, err
	}
	defer conn.Close()
	connected := time.Since(began).Seconds()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return wire.TrafficResult{}, err
	}
	var r wire.TrafficResult
	if t.Protocol == "tcp" {
		r, err = trafficTCP(conn.(*net.TCPConn), t)
	} else {
		r, err = trafficUDP(conn, t)
	}
	r.ConnectSeconds = connected
	if r.Seconds > 0 {
		useful := r.Received
		if t.OneWay {
			useful = r.Sent
		}
		r.Mbits = float64(useful) * 8 / r.Seconds / 1e6
	}
	return r, err
}

func trafficTCP(conn *net.TCPConn, t wire.Traffic) (wire.TrafficResult, error) {
	var r wire.TrafficResult
	size := t.Size
	if size == 0 {
		size = 64 << 10
	}
	began := time.Now()
	sent := make(chan error, 1)
	go func() {
		var err error
		r.Sent, err = io.CopyBuffer(onlyWriter{conn}, io.LimitReader(&pattern{}, t.Bytes), make([]byte, size))
		sent <- errors.Join(err, conn.CloseWrite())
	}()
	v := &verifier{}
	received, err := io.CopyBuffer(v, onlyReader{conn}, make([]byte, 64<<10))
	if err != nil {
		_ = conn.SetDeadline(time.Now()) // the sender must not wait for a peer that failed
	}
	err = errors.Join(err, <-sent)
	r.Seconds = time.Since(began).Seconds()
	if t.OneWay {
		return r, err
	}
	r.Received = received
	if v.wrong {
		r.Corrupt = 1
		err = errors.Join(err, fmt.Errorf("what came back differs from what was sent, first at byte %d", v.at))
	}
	if err == nil && r.Received != t.Bytes {
		err = fmt.Errorf("%d of %d bytes came back", r.Received, t.Bytes)
	}
	return r, err
}

// trafficUDP sends datagrams and matches the echoes. A datagram that does not come back is a result, not an error.
func trafficUDP(conn net.Conn, t wire.Traffic) (wire.TrafficResult, error) {
	var r wire.TrafficResult
	size := min(max(t.Size, minDatagram), maxDatagram)
	out, in := make([]byte, size), make([]byte, maxDatagram)
	_, _ = (&pattern{}).Read(out)
	back := map[uint64]bool{}
	var rtts []float64
	began := time.Now()
	receive := func(wait time.Duration) error {
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		n, err := conn.Read(in)
		if err != nil {
			return err
		}
		if n != size || string(in[minDatagram:n]) != string(out[minDatagram:]) {
			r.Corrupt++
			return nil
		}
		number := binary.BigEndian.Uint64(in)
		if number >= uint64(t.Packets) || back[number] {
			return nil // a duplicate
		}
		back[number] = true
		r.Received += int64(n)
		rtts = append(rtts, time.Since(began).Seconds()-time.Duration(binary.BigEndian.Uint64(in[8:])).Seconds())
		return nil
	}
	lost := 0 // known to be lost: nobody waits for them again
	for r.PacketsSent < t.Packets {
		binary.BigEndian.PutUint64(out, uint64(r.PacketsSent))
		binary.BigEndian.PutUint64(out[8:], uint64(time.Since(began)))
		if _, err := conn.Write(out); err != nil && !refused(err) {
			return r, err
		}
		r.PacketsSent++
		r.Sent += int64(size)
		for r.PacketsSent-len(back)-lost >= window || (r.PacketsSent == t.Packets && r.PacketsSent-len(back)-lost > 0) {
			if err := receive(quiet); errors.Is(err, os.ErrDeadlineExceeded) {
				lost = r.PacketsSent - len(back)
			} else if err != nil && !refused(err) {
				return r, err
			} else if err != nil {
				lost++
			}
		}
	}
	r.PacketsBack, r.Lost = len(back), r.PacketsSent-len(back)
	r.Seconds = time.Since(began).Seconds()
	if len(rtts) > 0 {
		slices.Sort(rtts)
		r.RTTMin, r.RTTMedian, r.RTTMax = rtts[0], rtts[len(rtts)/2], rtts[len(rtts)-1]
	}
	return r, nil
}

// onlyReader and onlyWriter hide the splice and sendfile paths, which have no use for a given buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
