package bench

import (
	"testing"

	"taproom/internal/host/hosttest"
)

func TestTheBareQEMUHasLinksOfTheKindThatIsMeasured(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Shell("set -e; ip link add " + manyLower + " up type veth peer name " + manyLower + "far; ip link set " + manyLower + "far up")
	t.Cleanup(func() { ns.Shell("ip link del " + manyLower) })
	k := ns.Kernel()
	for i, kind := range NICKinds() {
		b := &manyBench{o: Options{Kind: kind}}
		f, err := b.bareLink(k, i)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		want := map[string]string{"tap": "tun", "macvtap": "macvtap"}[kind]
		if l, err := k.LinkByName(bareName(i)); err != nil || l.Kind != want || !l.Up {
			t.Errorf("%s: the bare QEMU's link is %+v, %v, want a %s that is up", kind, l, err, want)
		}
	}
}
