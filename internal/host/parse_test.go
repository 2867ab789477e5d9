package host

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// FuzzMessages gives the readers of the kernel's messages what no kernel sends: they may refuse it and nothing else.
func FuzzMessages(f *testing.F) {
	k := New(Options{})
	defer k.Close()
	for _, dump := range []struct {
		get, want int
		header    nl.NetlinkRequestData
	}{{unix.RTM_GETLINK, unix.RTM_NEWLINK, linkHeader(0)}, {unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfAddrmsg(unix.AF_UNSPEC)}} {
		msgs, err := k.get(dump.get, unix.NLM_F_DUMP, uint16(dump.want), dump.header)
		if err != nil && !errors.Is(err, ErrPartial) {
			f.Fatal(err)
		}
		for _, m := range msgs {
			f.Add(m)
			f.Add(m[:len(m)/2])
		}
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = parseLink(bytes.Clone(b))
		_, _, _ = parseAddress(bytes.Clone(b))
		_, _, _ = parseRoute(bytes.Clone(b), unix.AF_INET)
		_, _, _ = parseRoute(bytes.Clone(b), unix.AF_INET6)
		_, _, _, _ = parseHostAddress(bytes.Clone(b))
		_, _ = parseHostRoute(bytes.Clone(b), unix.AF_INET)
		_, _ = parseHostRoute(bytes.Clone(b), unix.AF_INET6)
		_, _ = parseRouteRule(bytes.Clone(b))
		var br Bridge
		_ = parseBridge(&br, bytes.Clone(b))
		if files, err := parseRights(nil); files != nil || err != nil {
			panic("descriptors out of nothing")
		}
	})
}

func TestCPUsAreReadFromProc(t *testing.T) {
	t.Parallel()
	model, mhz, cpus := cpuinfo([]byte("processor\t: 0\nmodel name\t: Some CPU @ 2.40GHz\ncpu MHz\t\t: 2399.998\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 2.40GHz\n"))
	if model != "Some CPU @ 2.40GHz" || mhz != 2399 || cpus != 2 {
		t.Errorf("%q, %d MHz, %d CPUs", model, mhz, cpus)
	}
	if _, _, cpus := cpuinfo(nil); cpus != 1 {
		t.Errorf("%d CPUs where the kernel tells none, want 1", cpus)
	}
	if got := meminfo([]byte("MemTotal:       16384 kB\nMemFree:  77 kB\n"), "MemFree"); got != 77 {
		t.Errorf("%d KiB free, want 77", got)
	}
}

func TestTopologyCountsPerNodeSocketAndCore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(cpu, pkg, core string) {
		d := filepath.Join(dir, cpu, "topology")
		if err := errors.Join(os.MkdirAll(d, 0o755), os.WriteFile(filepath.Join(d, "physical_package_id"), []byte(pkg+"\n"), 0o644),
			os.WriteFile(filepath.Join(d, "core_id"), []byte(core+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct{ pkg, core string }{{"0", "0"}, {"0", "0"}, {"0", "1"}, {"0", "1"}, {"1", "0"}, {"1", "0"}, {"1", "1"}, {"1", "1"}} {
		write("cpu"+string(rune('0'+i)), c.pkg, c.core)
	}
	if err := os.Mkdir(filepath.Join(dir, "cpu9"), 0o755); err != nil { // offline: no topology
		t.Fatal(err)
	}
	n := NodeInfo{Nodes: 2}
	n.topology(dir)
	if want := (NodeInfo{Nodes: 2, Sockets: 1, Cores: 2, Threads: 2}); n != want {
		t.Errorf("got %+v, want %+v", n, want)
	}
	n = NodeInfo{Nodes: 1}
	n.topology(t.TempDir())
	if want := (NodeInfo{Nodes: 1, Sockets: 1, Cores: 1, Threads: 1}); n != want {
		t.Errorf("without any: %+v, want %+v", n, want)
	}
}

func TestMountPointsAreUnescaped(t *testing.T) {
	t.Parallel()
	if got := unescapeMount(`/a\040b\134c`); got != `/a b\c` {
		t.Errorf("got %q", got)
	}
}

func TestMissingSaysWhatWouldHelp(t *testing.T) {
	t.Parallel()
	err := error(&Missing{What: "Landlock", Config: "CONFIG_SECURITY_LANDLOCK=y", Err: unix.ENOSYS})
	if !errors.Is(err, unix.ENOSYS) || err.Error() != "this kernel has no Landlock (function not implemented); it needs CONFIG_SECURITY_LANDLOCK=y" {
		t.Errorf("got %v", err)
	}
}

func TestALandlockVersionGetsOnlyWhatItKnows(t *testing.T) {
	t.Parallel()
	for abi, want := range map[int]struct {
		rules landlockRuleset
		size  uintptr
	}{
		1: {landlockRuleset{fs: 0x1fff}, 8}, 2: {landlockRuleset{fs: 0x3fff}, 8}, 3: {landlockRuleset{fs: 0x7fff}, 8},
		4: {landlockRuleset{fs: 0x7fff, net: 3}, 16}, 5: {landlockRuleset{fs: 0xffff, net: 3}, 16}, 6: {landlockRuleset{fs: 0xffff, net: 3, scoped: 3}, 24},
		9: {landlockRuleset{fs: 0xffff, net: 3, scoped: 3}, 24},
	} {
		if rules, size := landlockKnown(abi); rules != want.rules || size != want.size {
			t.Errorf("ABI %d: %#x, %d bytes, want %#x, %d", abi, rules, size, want.rules, want.size)
		}
	}
}
