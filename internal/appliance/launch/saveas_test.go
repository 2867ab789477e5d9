package launch

import (
	"fmt"
	"testing"
)

// A mirror that becomes ready again and again has its end heard of nevertheless, also when it comes unread meanwhile.
func TestTheEndOfACopyIsNotLost(t *testing.T) {
	t.Parallel()
	status := &jobStatus{ready: make(chan struct{}, 1), concluded: make(chan struct{})}
	r := &running{jobs: map[string]*jobStatus{"job-copy1": status}}
	for _, s := range []string{"created", "running", "ready", "standby", "ready", "standby", "ready", "aborting", "concluded", "concluded", "null"} {
		r.jobChanged(fmt.Appendf(nil, `{"id": "job-copy1", "status": %q}`, s))
		r.jobChanged(fmt.Appendf(nil, `{"id": "job-copy2", "status": %q}`, s))
	}
	select {
	case <-status.concluded:
	default:
		t.Error("it has not ended")
	}
	if len(status.ready) != 1 {
		t.Errorf("it was ready %d times", len(status.ready))
	}
}
