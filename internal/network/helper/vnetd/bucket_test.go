package vnetd

import (
	"testing"
	"time"
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
