package tftp_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"time"
)

// window is a client of ours, which neither of the others is: it asks for windows, and loses a datagram now and then.
func window(size int) get { return lossy(size, 0) }

// lossy drops every nth datagram that it receives.
func lossy(size, nth int) get {
	return func(s *site, name string) ([]byte, error) {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.addr))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintf(conn, "\x00\x01%s\x00octet\x00blksize\x001024\x00windowsize\x00%d\x00", name, size); err != nil {
			return nil, err
		}
		ack := func(block uint16) error {
			_, err := conn.Write(binary.BigEndian.AppendUint16([]byte{0, 4}, block))
			return err
		}
		var out []byte
		var have uint16 // the last block in sequence
		behind := 0     // blocks since the last acknowledgement
		b := make([]byte, 2000)
		for received := 1; ; received++ {
			n, err := conn.Read(b)
			if err != nil {
				return nil, fmt.Errorf("after block %d: %w", have, err)
			}
			if nth != 0 && received%nth == 0 {
				continue
			}
			switch block := binary.BigEndian.Uint16(b[2:]); {
			case b[1] == 6:
				err = ack(0)
			case b[1] != 3:
				return nil, fmt.Errorf("received % x", b[:n])
			case block != have+1: // one is missing, or it is a repetition
				behind = 0
				err = ack(have)
			default:
				have = block
				out = append(out, b[4:n]...)
				behind++
				if n < 4+1024 {
					return out, ack(have)
				}
				if behind == size {
					behind = 0
					err = ack(have)
				}
			}
			if err != nil {
				return nil, err
			}
		}
	}
}

func TestAClientThatLosesDatagramsGetsItsFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, nth int }{{8, 13}, {64, 100}} {
		b := random(1 << 20)
		s := serve(t, "udp4", "127.0.0.1:0", map[string][]byte{"file": b})
		got, err := lossy(c.size, c.nth)(s, "file")
		if err != nil || string(got) != string(b) {
			t.Errorf("windows of %d, every %dth lost: got %d bytes, %v", c.size, c.nth, len(got), err)
		}
	}
}
