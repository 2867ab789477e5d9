package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
)

func TestFiguresOfNICsAreNumberedAsInTheDocument(t *testing.T) {
	t.Parallel()
	e := small(t)
	// The first is of type user, which has no link. Every namespace has lo.
	v := &view{run: consisting(hardware{rec: record{NICs: 2, Ports: []port{{NIC: 1, Name: "lo"}}}})}
	got := e.interfaceStats(v)
	want := []server.Param{remote.UintParam("net.count", 2), remote.StringParam("net.1.name", "lo")}
	if len(got) != 10 || !cmp.Equal(want, got[:2]) {
		t.Errorf("got %v, want %v and eight counters", got, want)
	}
}
