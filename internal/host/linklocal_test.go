package host_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// Whoever sends a frame that no bridge passes on, with the address of somebody else, would get what is for that one.
func TestABridgeLearnsNothingFromFramesThatItPassesOnToNobody(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	k := ns.Kernel()
	for _, c := range []struct {
		name   string
		learns bool
	}{{"br0", false}, {"br1", true}} {
		index, err := k.CreateBridge(host.BridgeSpec{Name: c.name, LearnsLinkLocal: c.learns})
		if err != nil {
			t.Fatal(err)
		}
		tap, err := k.CreateTap(host.TapSpec{Name: "tap" + c.name})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(k.SetMaster(tap.Index, index), k.SetUp(tap.Index, true), k.SetUp(index, true)); err != nil {
			t.Fatal(err)
		}
		if l, err := k.LinkByIndex(index); err != nil || l.Bridge.LearnsLinkLocal != c.learns {
			t.Errorf("%s: %+v, %v; want that it learns: %v", c.name, l.Bridge, err, c.learns)
		}
		frame := func(to, from string) {
			b := make([]byte, 60)
			copy(b, to+from+"\x88\xcc")
			if _, err := tap.Files[0].Write(b); err != nil {
				t.Fatal(err)
			}
		}
		for i, last := range []string{"\x02", "\x03", "\x0e"} {
			frame("\x01\x80\xc2\x00\x00"+last, "\x52\x54\x00\x00\x01"+string(rune('1'+i)))
		}
		frame("\xff\xff\xff\xff\xff\xff", "\x52\x54\x00\x00\x00\x02")
		learnt := ""
		for late := time.Now().Add(time.Minute); !strings.Contains(learnt, "52:54:00:00:00:02"); <-time.After(5 * time.Millisecond) {
			learnt = ns.Run("bridge", "fdb", "show", "br", c.name)
			if time.Now().After(late) {
				t.Fatalf("%s learnt nothing from a frame to all:\n%s", c.name, learnt)
			}
		}
		if got := strings.Contains(learnt, "52:54:00:00:01:"); got != c.learns {
			t.Errorf("%s learnt from such frames: %v, want %v\n%s", c.name, got, c.learns, learnt)
		}
		// What was made may be told otherwise.
		if err := k.SetBridge(index, host.Bridge{LearnsLinkLocal: !c.learns}); err != nil {
			t.Error(err)
		}
		if l, err := k.LinkByIndex(index); err != nil || l.Bridge.LearnsLinkLocal == c.learns {
			t.Errorf("%s: %+v, %v; want that it was told otherwise", c.name, l.Bridge, err)
		}
		if err := errors.Join(tap.Close(), k.DeleteLink(index)); err != nil {
			t.Error(err)
		}
	}
}
