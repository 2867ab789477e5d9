package host_test

import (
	"errors"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestALinkGetsAnotherNameAndIsUpAfterwards(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link was", "link is", "link other")
	ns.Shell("ip link add was type bridge; ip link set was up; ip link add other type bridge")
	k := ns.Kernel()
	l, err := k.LinkByName("was")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.RenameLink(l.Index, "other"); !errors.Is(err, host.ErrTaken) {
		t.Errorf("a name that another link has: %v", err)
	}
	for _, name := range []string{"is", "is"} { // a second time changes nothing
		if err := k.RenameLink(l.Index, name); err != nil {
			t.Fatal(err)
		}
		if now, err := k.LinkByName(name); err != nil || now.Index != l.Index || !now.Up {
			t.Errorf("%+v, %v", now, err)
		}
	}
	ns.Run("ip", "link", "del", "is")
	if err := k.RenameLink(l.Index, "was"); !errors.Is(err, host.ErrNoLink) {
		t.Errorf("a link that is gone: %v", err)
	}
}
