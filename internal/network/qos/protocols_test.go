package qos_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"taproom/internal/network/load"
	"taproom/internal/network/packet/packettest"
	"taproom/internal/network/qos"
)

var sentBytes = regexp.MustCompile(`(?m)^qdisc tbf 7a70: root [^\n]*\n Sent (\d+) bytes (\d+) pkt \(dropped (\d+),`)

// sent is how many bytes and frames have passed the bucket of a link; one that was dropped fails the test.
func (e end) sent(t *testing.T) (bytes, frames int) {
	t.Helper()
	out := e.ns.Run("tc", "-s", "qdisc", "show", "dev", e.link)
	m := sentBytes.FindStringSubmatch(out)
	if m == nil || m[3] != "0" {
		t.Fatalf("%s has no bucket, or it dropped frames:\n%s", e.link, out)
	}
	bytes, _ = strconv.Atoi(m[1])
	frames, _ = strconv.Atoi(m[2])
	return bytes, frames
}

// Frames of every protocol pass the bucket and use it up as those of IPv4 do: ARP, a protocol for experiments, and LLC, whose frames have a
// length in the place of a protocol.
func TestLimit_CountsEveryProtocol(t *testing.T) {
	t.Parallel()
	const kib, each, size = 32, 30, 1000
	protocols := map[string][2]byte{"IPv4": {8, 0}, "IPv6": {0x86, 0xdd}, "ARP": {8, 6}, "experiment": {0x88, 0xb5}, "LLC": {byte((size - 14) >> 8), byte((size - 14) & 0xff)}}
	for name, attach := range attachments() {
		for i, way := range []string{"out", "in"} {
			t.Run(fmt.Sprint(name, "/", way), func(t *testing.T) {
				t.Parallel()
				a := attach(t)
				a.joins(t)
				l := qos.Limit{Average: kib}
				if err := a.bound.Set(qos.Limits{Out: l, In: l}, mtu); err != nil {
					t.Fatal(err)
				}
				from, queue := a.ends[i], a.queues[i]
				port := packettest.Open(t, from.ns, from.link)
				began := time.Now()
				first, _ := queue.sent(t)
				for protocol, number := range protocols {
					bytes, frames := queue.sent(t)
					for range each {
						port.Send(append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0, 9, 9, number[0], number[1]}, make([]byte, size-14)...))
					}
					for late := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
						b, f := queue.sent(t)
						if b >= bytes+each*size && f >= frames+each {
							break
						}
						if time.Now().After(late) {
							t.Fatalf("%s: %d bytes of %d frames passed the queue, want %d of %d", protocol, b-bytes, f-frames, each*size, each)
						}
					}
				}
				last, _ := queue.sent(t)
				const bucket = 72 << 10 // that passes at once
				if least := time.Duration(float64(last-first-bucket) / float64(qos.Wire(kib, mtu)) * float64(time.Second)); time.Since(began) < least {
					t.Errorf("%d bytes passed within %v, want %v at least", last-first, time.Since(began), least)
				}
			})
		}
	}
}

// joins waits until frames pass between both ends: before a link has a carrier its queue loses them.
func (a *attachment) joins(t *testing.T) {
	t.Helper()
	for late := time.Now().Add(patience); ; {
		d, err := load.Probe(t.Context(), a.far, a.guest, a.place.Addr[0], 1, time.Millisecond)
		switch {
		case err != nil:
			t.Fatal(err)
		case d.Lost == 0:
			return
		case time.Now().After(late):
			t.Fatalf("no frame passed within %v", patience)
		}
	}
}
