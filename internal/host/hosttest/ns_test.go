package hosttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

func TestMain(m *testing.M) { Main(m) }

func TestEachNamespaceIsItsOwn(t *testing.T) {
	t.Parallel()
	a, b := NewNS(t), NewNS(t)
	seen := map[string]bool{}
	for _, get := range []func() string{
		func() string { return a.Run("readlink", "/proc/self/ns/net") },
		func() string { return b.Run("readlink", "/proc/self/ns/net") },
		func() string { s, _ := os.Readlink("/proc/self/ns/net"); return s },
	} {
		seen[strings.TrimSpace(get())] = true
	}
	if len(seen) != 3 {
		t.Errorf("two namespaces and the process's own are %v", seen)
	}
	a.Run("ip", "link", "add", "br0", "type", "bridge")
	if got := a.Run("ls", "/sys/class/net"); got != "bonding_masters\nbr0\nlo\n" && got != "br0\nlo\n" {
		t.Errorf("/sys/class/net shows %q", got)
	}
	if got := b.Run("ls", "/sys/class/net"); strings.Contains(got, "br0") {
		t.Errorf("the other namespace's /sys shows %q", got)
	}
	a.Run("ip", "link", "delete", "br0")
}

func TestLeftoversAreNamedUnlessDeclared(t *testing.T) {
	t.Parallel()
	ns := NewNS(t)
	ns.Shell("ip link add br0 type bridge; ip link add br1 type bridge; nft add table inet x; nft add table ip y")
	ns.Keep("link br1", "table inet *")
	got, err := ns.leftovers()
	if d := cmp.Diff([]string{"link br0", "table ip y"}, got); d != "" || err != nil {
		t.Errorf("left over (-want +got), %v:\n%s", err, d)
	}
	if err := ns.empty(); err != nil {
		t.Error(err)
	}
	if got, err := ns.leftovers(); len(got) != 0 || err != nil {
		t.Errorf("after it was emptied: %v, %v", got, err)
	}
}

func TestVethConnectsTwoNamespaces(t *testing.T) {
	t.Parallel()
	a, b := NewNS(t), NewNS(t)
	Veth(a, "up0", b, "down0")
	a.Run("ip", "address", "add", "10.0.0.1/24", "dev", "up0")
	b.Run("ip", "address", "add", "10.0.0.2/24", "dev", "down0")
	a.Run("ping", "-c", "1", "-W", "5", "10.0.0.2")
}

func TestDoMayBeNestedAndPassesPanicsOn(t *testing.T) {
	t.Parallel()
	ns := NewNS(t)
	depth := 0
	ns.Do(func() {
		ns.Do(func() { depth = 2 })
		if unix.Gettid() == os.Getpid() {
			t.Error("a namespace on the main thread")
		}
	})
	if depth != 2 {
		t.Error("the inner function did not run")
	}
	defer func() {
		if p := recover(); p != "boom" {
			t.Errorf("recovered %v, want boom", p)
		}
		if _, err := ns.Kernel().Links(); err != nil {
			t.Errorf("after a panic the namespace is of no use: %v", err)
		}
	}()
	ns.Do(func() { panic("boom") })
}

func TestAKernelWithAHookCountsItsCalls(t *testing.T) {
	t.Parallel()
	ns := NewNS(t)
	var calls []string
	k := ns.KernelWith(func(c string) { calls = append(calls, c) })
	defer k.Close()
	index, err := k.CreateBridge(host.BridgeSpec{Name: "br0"})
	if err == nil {
		err = k.DeleteLink(index)
	}
	calls = slices.DeleteFunc(calls, func(c string) bool { return c == "link get" }) // before 6.2 a bridge is not echoed
	if d := cmp.Diff([]string{"bridge create", "link delete"}, calls); d != "" || err != nil {
		t.Errorf("calls (-want +got), %v:\n%s", err, d)
	}
}

func TestDescriptorsThatStayOpenAreSeen(t *testing.T) { // not parallel: others open files too
	before := descriptors()
	f, err := os.Create(filepath.Join(t.TempDir(), "left"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if d := cmp.Diff([]string{f.Name()}, missing(descriptors(), before)); d != "" {
		t.Errorf("newly open (-want +got):\n%s", d)
	}
}
