package agent

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"taproom/internal/appliance/wire"
)

// echo lets the agent's own listener echo until the test ends.
func echo(t *testing.T, protocol string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listeners{}
	at, err := l.listen(ctx, wire.Listen{Protocol: protocol, Address: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		l.tasks.Wait()
	})
	return fmt.Sprintf("127.0.0.1:%d", at.Port)
}

func TestTCPTrafficComesBackWhole(t *testing.T) {
	t.Parallel()
	r, err := traffic(t.Context(), wire.Traffic{Protocol: "tcp", Address: echo(t, "tcp"), Bytes: 3_000_001, Size: 1000})
	if err != nil || r.Sent != 3_000_001 || r.Received != 3_000_001 || r.Corrupt != 0 || r.Mbits <= 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestUDPTrafficCountsWhatComesBack(t *testing.T) {
	t.Parallel()
	r, err := traffic(t.Context(), wire.Traffic{Protocol: "udp", Address: echo(t, "udp"), Packets: 500, Size: 100})
	if err != nil || r.PacketsSent != 500 || r.PacketsBack+r.Lost != 500 || r.PacketsBack == 0 || r.RTTMin <= 0 || r.RTTMax < r.RTTMedian {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestLostAndChangedDatagramsAreResults(t *testing.T) {
	t.Parallel()
	s, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var task sync.WaitGroup
	task.Go(func() { // loses every tenth, changes one, and sends one twice
		buf := make([]byte, 2000)
		for i := 0; ; i++ {
			n, from, err := s.ReadFrom(buf)
			if err != nil {
				return
			}
			switch {
			case i%10 == 9:
				continue
			case i == 5:
				buf[n-1]++
			case i == 6:
				_, _ = s.WriteTo(buf[:n], from)
			}
			_, _ = s.WriteTo(buf[:n], from)
		}
	})
	r, err := traffic(t.Context(), wire.Traffic{Protocol: "udp", Address: s.LocalAddr().String(), Packets: 20, Size: 64})
	_ = s.Close()
	task.Wait()
	if err != nil || r.PacketsSent != 20 || r.PacketsBack != 17 || r.Lost != 3 || r.Corrupt != 1 {
		t.Errorf("got %+v, %v, want 17 back, 3 lost (one of them came back changed)", r, err)
	}
}

func TestServerThatChangesBytesIsFoundOut(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var task sync.WaitGroup
	task.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(conn)
		b.Bytes()[777]++
		_, _ = conn.Write(b.Bytes())
	})
	r, err := traffic(t.Context(), wire.Traffic{Protocol: "tcp", Address: l.Addr().String(), Bytes: 10_000})
	_ = l.Close()
	task.Wait()
	if err == nil || !strings.Contains(err.Error(), "byte 777") || r.Corrupt != 1 {
		t.Errorf("got %+v, %v, want an error that names byte 777", r, err)
	}
}

func TestOneWayTrafficNeedsNoEcho(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var task sync.WaitGroup
	task.Go(func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = new(bytes.Buffer).ReadFrom(conn)
			_ = conn.Close()
		}
	})
	r, err := traffic(t.Context(), wire.Traffic{Protocol: "tcp", Address: l.Addr().String(), Bytes: 1 << 20, OneWay: true})
	_ = l.Close()
	task.Wait()
	if err != nil || r.Sent != 1<<20 || r.Received != 0 || r.Mbits <= 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestTrafficThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []wire.Traffic{
		{Protocol: "icmp", Address: "127.0.0.1:1"},
		{Protocol: "tcp", Address: "127.0.0.1:1", Bytes: -1},
		{Protocol: "tcp", Address: "127.0.0.1:1", Size: 1 << 30},
		{Protocol: "udp", Address: "127.0.0.1:1", Packets: 1 << 40},
		{Protocol: "tcp", Address: "no port"},
	} {
		if r, err := traffic(t.Context(), bad); err == nil {
			t.Errorf("%+v gave %+v", bad, r)
		}
	}
	if _, err := (&listeners{count: maxListeners}).listen(t.Context(), wire.Listen{Protocol: "tcp"}); err == nil {
		t.Error("one listener more than the limit was opened")
	}
	if _, err := (&listeners{}).listen(t.Context(), wire.Listen{Protocol: "icmp"}); err == nil {
		t.Error("a listener for icmp was opened")
	}
}

func TestPatternDoesNotDependOnThePieces(t *testing.T) {
	t.Parallel()
	whole := make([]byte, 1000)
	_, _ = (&pattern{seed: 5}).Read(whole)
	p := &pattern{seed: 5}
	var pieces []byte
	for size := range 44 {
		piece := make([]byte, size)
		_, _ = p.Read(piece)
		pieces = append(pieces, piece...)
	}
	if !bytes.Equal(pieces[:900], whole[:900]) {
		t.Error("read in pieces, the pattern differs")
	}
	v := &verifier{want: pattern{seed: 5}}
	_, _ = v.Write(whole[:300])
	_, _ = v.Write(append(bytes.Clone(whole[300:400]), 0xee))
	if !v.wrong || v.at != 400 {
		t.Errorf("the verifier says %v at %d, want the fault at 400", v.wrong, v.at)
	}
}
