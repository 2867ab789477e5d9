package crowdtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/daemon/daemontest"
)

func TestAGuestThatIsJustStartingIsRemovedLikeOneThatRuns(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	d.NS.Run("ip", "link", "add", "crowdbr", "type", "bridge")
	starter, remover := d.Client(), d.Client()
	for round := range 10 {
		xml := fmt.Sprintf(document, round)
		dom, err := starter.DefineDomain(t.Context(), xml)
		if err != nil {
			t.Fatal(err)
		}
		started := make(chan error, 1)
		go func() {
			_, err := starter.StartDomain(t.Context(), dom, 0)
			started <- err
		}()
		awaitRecord(t, d)
		result, err := remover.Apply(t.Context(), own.ApplyRequest{Remove: true, Documents: []own.Document{{Name: "guest.xml", XML: xml}}})
		if err != nil || len(result.Objects) != 1 || result.Objects[0].Error != "" || result.Objects[0].Action != "removed" {
			t.Errorf("round %d: removed with %+v, %v", round, result.Objects, err)
		}
		startErr := <-started
		if status, err := remover.Status(t.Context()); err != nil || len(status.Domains) != 0 {
			t.Errorf("round %d: the start said %v, and there is %+v, %v", round, startErr, status.Domains, err)
		}
	}
	d.NS.Run("ip", "link", "del", "crowdbr")
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// awaitRecord waits until a start has written down what it is about to make.
func awaitRecord(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for {
		if entries, err := os.ReadDir(d.Paths().Records()); err == nil && len(entries) > 0 {
			return
		}
		select {
		case <-tick.C: // the daemon tells nobody
		case <-t.Context().Done():
			t.Fatal("no start came so far")
		}
	}
}
