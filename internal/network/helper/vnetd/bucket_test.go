package vnetd

import (
	"testing"
	"time"

	"taproom/internal/network/packet"
)

func TestABucketGivesTheBurstAndThenTheRate(t *testing.T) {
	t.Parallel()
	var b bucket
	now := time.Unix(1000, 0)
	count := func() (n int) {
		for b.take(now) == 0 {
			n++
		}
		return n
	}
	var got []int
	for range 3 {
		got = append(got, count())
		now = now.Add(b.take(now)) // as long as it said
	}
	now = now.Add(time.Hour)
	got = append(got, count())
	want := []int{messageBurst, messageRate / 10, messageRate / 10, messageBurst}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("messages let through: %v, want %v", got, want)
		}
	}
}

func TestAFloodOfARPCostsNoQuestionItsAnswer(t *testing.T) {
	t.Parallel()
	var l limits
	now := time.Unix(1000, 0)
	for l.take(packet.TypeARP, now) == 0 {
	}
	for _, kind := range []uint16{packet.TypeIPv4, packet.TypeIPv6} {
		if wait := l.take(kind, now); wait != 0 {
			t.Errorf("type %#x has to wait %v", kind, wait)
		}
	}
}
