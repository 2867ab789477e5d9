package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taproom/internal/doctor"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

func kvm(usable bool, reason string, evidence ...string) func(context.Context) qemu.KVM {
	return func(context.Context) qemu.KVM { return qemu.KVM{Usable: usable, Reason: reason, Evidence: evidence} }
}

// env is a namespace of its own and a root folder without anything in it.
func env(t *testing.T) (*hosttest.NS, doctor.Env) {
	t.Helper()
	ns := hosttest.NewNS(t)
	return ns, doctor.Env{
		Kernel: ns.Kernel(), KVM: kvm(true, "made a machine"), Root: t.TempDir(),
		Landlock: func() (int, error) { return 7, nil },
		LookPath: func(p string) (string, error) { return "/usr/sbin/" + p, nil },
	}
}

// named returns the findings of that name or below it.
func named(all []doctor.Finding, prefix string) (out []doctor.Finding) {
	for _, f := range all {
		if f.Name == prefix || strings.HasPrefix(f.Name, prefix+".") {
			out = append(out, f)
		}
	}
	return out
}

func one(t *testing.T, all []doctor.Finding, name string) doctor.Finding {
	t.Helper()
	got := named(all, name)
	if len(got) != 1 {
		t.Fatalf("%d findings %s: %+v", len(got), name, got)
	}
	return got[0]
}

func put(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func listen(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: put(t, path), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestANamespaceWithNothingInItHasNothingInTheWay(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	all := doctor.Run(context.Background(), e)
	for _, name := range []string{"kvm", "landlock", "nftables", "nft", "iptables-legacy", "firewalld", "foreign-rules", "openvswitch", "sockets", "kernel.tap", "kernel.bridge", "kernel.veth"} {
		got := named(all, name)
		want := doctor.OK
		if name == "openvswitch" { // the program is there, says LookPath
			want = doctor.Warning
		}
		if len(got) != 1 || got[0].Status != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, f := range all {
		if f.Name == "" || f.Evidence == "" || (f.Status == doctor.Problem || f.Status == doctor.Warning) && f.Remedy == "" {
			t.Errorf("a finding without evidence or remedy: %+v", f)
		}
	}
	// It has changed nothing.
	if rules := ns.Run("nft", "list", "ruleset"); rules != "" {
		t.Errorf("left rules:\n%s", rules)
	}
	if links := ns.Run("ip", "-o", "link"); strings.Count(links, "\n") != 1 {
		t.Errorf("left links:\n%s", links)
	}
	if names := ns.Run("cat", "/proc/net/ip_tables_names"); names != "" {
		t.Errorf("made the kernel create legacy tables: %s", names)
	}
}

func TestForeignDropsAreNamedWithOwnerAndRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, setup     string
		finding, remedy string // parts of evidence and remedy
		status          doctor.Status
	}{
		{
			"Docker through iptables-nft", "iptables-nft -P FORWARD DROP; iptables-nft -N DOCKER-USER; iptables-nft -A FORWARD -j DOCKER-USER",
			"table ip filter chain FORWARD (Docker): hook forward priority 0, policy drop", "iptables -I DOCKER-USER -i virbr0 -j ACCEPT", doctor.Problem,
		},
		{
			"ufw", "iptables-nft -P FORWARD DROP; iptables-nft -N ufw-before-forward",
			"table ip filter chain FORWARD (ufw): hook forward priority 0, policy drop", "ufw route allow in on virbr0", doctor.Problem,
		},
		{
			"a plain input policy", "nft 'add table inet fw; add chain inet fw in { type filter hook input priority 5; policy drop; }'",
			"table inet fw chain in (somebody else): hook input priority 5, policy drop", "nft insert rule inet fw in iifname virbr0 accept", doctor.Problem,
		},
		{
			"a last rule that rejects", "nft 'add table inet firewalld; add chain inet firewalld filter_FORWARD { type filter hook forward priority 10; policy accept; }; add rule inet firewalld filter_FORWARD ct state established accept; add rule inet firewalld filter_FORWARD counter reject with icmpx admin-prohibited'",
			"table inet firewalld chain filter_FORWARD (firewalld): hook forward priority 10, the last rule is reject", "nft delete table inet firewalld", doctor.Problem,
		},
		{
			"iptables-nft with a last REJECT", "iptables-nft -A FORWARD -i lo -j ACCEPT; iptables-nft -A FORWARD -j REJECT --reject-with icmp-host-prohibited",
			"table ip filter chain FORWARD (iptables-nft): hook forward priority 0, the last rule is reject", "iptables -I FORWARD -i virbr0 -j ACCEPT", doctor.Problem,
		},
		{
			"a bridge table", "nft 'add table bridge l2; add chain bridge l2 f { type filter hook forward priority -200; policy accept; }; add rule bridge l2 f log prefix \"x\" drop'",
			"table bridge l2 chain f (somebody else): hook forward priority -200, the last rule is drop", "nft insert rule bridge l2 f iifname virbr0 accept", doctor.Problem,
		},
		{
			"IPv6 only", "nft 'add table ip6 six; add chain ip6 six f { type filter hook forward priority 0; policy drop; }'",
			"table ip6 six chain f (somebody else)", "nft insert rule ip6 six f", doctor.Warning,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ns, e := env(t)
			ns.Keep("table *")
			ns.Shell(c.setup)
			before := ns.Run("nft", "list", "ruleset")
			f := one(t, doctor.Run(context.Background(), e), "foreign-rules")
			if f.Status != c.status || !strings.Contains(f.Evidence, c.finding) || !strings.Contains(f.Remedy, c.remedy) {
				t.Errorf("got %+v", f)
			}
			if d := cmp.Diff(before, ns.Run("nft", "list", "ruleset")); d != "" {
				t.Errorf("the rules changed:\n%s", d)
			}
		})
	}
}

func TestChainsThatLetGuestsThroughAreNotAccused(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	ns.Keep("table *")
	ns.Shell(`nft 'add table inet a; add chain inet a f { type filter hook forward priority 0; policy accept; }; add rule inet a f iifname "eth0" drop'
nft 'add table ip b; add chain ip b f { type filter hook forward priority 0; policy drop; }; add rule ip b f accept'
nft 'add table ip taproom; add chain ip taproom f { type filter hook forward priority 0; policy drop; }'
nft 'add table ip c; add chain ip c p { type filter hook prerouting priority 0; policy drop; }; add chain ip c regular; add rule ip c regular drop'`)
	if f := one(t, doctor.Run(context.Background(), e), "foreign-rules"); f.Status != doctor.OK {
		t.Errorf("got %+v", f)
	}
}

func TestLegacyRulesAreFoundWhereNftDoesNotShowThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, setup, evidence string
		status                doctor.Status
	}{
		{"rules", "iptables-legacy -A INPUT -j ACCEPT; iptables-legacy -t nat -A POSTROUTING -j ACCEPT", "rules", doctor.Warning},
		{"a policy", "iptables-legacy -P FORWARD DROP", "table filter: policy of FORWARD is DROP", doctor.Problem},
		{"empty tables", "iptables-legacy -S", "no rules", doctor.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ns, e := env(t)
			ns.Shell(c.setup)
			f := one(t, doctor.Run(context.Background(), e), "iptables-legacy")
			if f.Status != c.status || !strings.Contains(f.Evidence, c.evidence) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestSettingsOfForwardingAreRead(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	ns.Shell("echo 0 > /proc/sys/net/ipv4/ip_forward")
	off := one(t, doctor.Run(context.Background(), e), "forwarding.ipv4")
	ns.Shell("echo 1 > /proc/sys/net/ipv4/ip_forward")
	on := one(t, doctor.Run(context.Background(), e), "forwarding.ipv4")
	if off.Status != doctor.Warning || off.Evidence != "net.ipv4.ip_forward = 0" || on.Status != doctor.OK || on.Evidence != "net.ipv4.ip_forward = 1" {
		t.Errorf("off: %+v\non: %+v", off, on)
	}
}

func TestBrNetfilterIsReportedWhereItIsOn(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	set := func(v string) error {
		_, err := ns.Try("sh", "-e", "-c", "for f in iptables ip6tables arptables; do echo "+v+" > /proc/sys/net/bridge/bridge-nf-call-$f; done")
		return err
	}
	if err := set("1"); err != nil { // a kernel without br_netfilter answers so
		if f := one(t, doctor.Run(context.Background(), e), "br_netfilter"); f.Status != doctor.OK || !strings.Contains(f.Evidence, "not loaded") {
			t.Errorf("got %+v", f)
		}
		return
	}
	on := one(t, doctor.Run(context.Background(), e), "br_netfilter")
	if err := set("0"); err != nil {
		t.Fatal(err)
	}
	off := one(t, doctor.Run(context.Background(), e), "br_netfilter")
	if on.Status != doctor.Warning || !strings.Contains(on.Evidence, "bridge-nf-call-iptables = 1") || off.Status != doctor.OK {
		t.Errorf("on: %+v\noff: %+v", on, off)
	}
}

func TestWhoHoldsLibvirtsSocketsIsNamed(t *testing.T) {
	t.Parallel()
	_, e := env(t)
	held := listen(t, filepath.Join(e.Root, "run/libvirt/libvirt-sock"))
	stale := listen(t, filepath.Join(e.Root, "run/libvirt/virtqemud-sock"))
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	got := named(doctor.Run(context.Background(), e), "socket")
	if len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	who := strings.TrimSpace(string(comm))
	if got[0].Name != "socket.libvirt-sock" || got[0].Status != doctor.Problem || !strings.Contains(got[0].Evidence, os.Args[0]) || !strings.Contains(got[0].Remedy, "stop "+who) {
		t.Errorf("held: %+v", got[0])
	}
	if got[1].Name != "socket.virtqemud-sock" || got[1].Status != doctor.Warning || !strings.Contains(got[1].Evidence, "nobody listens") {
		t.Errorf("stale: %+v", got[1])
	}
	_ = held
}

func TestKVMAndDevicesAndLandlockSayWhy(t *testing.T) {
	t.Parallel()
	_, e := env(t)
	put(t, filepath.Join(e.Root, "dev/vhost-net"))
	if err := os.WriteFile(filepath.Join(e.Root, "dev/vhost-net"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change   func(*doctor.Env)
		name     string
		status   doctor.Status
		evidence string
	}{
		{func(*doctor.Env) {}, "kvm", doctor.OK, "made a machine"},
		{func(e *doctor.Env) { e.KVM = kvm(false, "buy a new one", "no vmx flag", "slow") }, "kvm", doctor.Warning, "(no vmx flag; slow)"},
		{func(*doctor.Env) {}, "landlock", doctor.OK, "version 7"},
		{func(e *doctor.Env) {
			e.Landlock = func() (int, error) {
				return 0, &host.Missing{What: "active Landlock", Config: "lsm=landlock", Err: unix.EOPNOTSUPP}
			}
		}, "landlock", doctor.Warning, "lsm=landlock"},
		{func(e *doctor.Env) { e.Landlock = func() (int, error) { return 0, unix.EPERM } }, "landlock", doctor.Unknown, "not permitted"},
		{func(*doctor.Env) {}, "vhost-net", doctor.Problem, "no device node"},
		{func(e *doctor.Env) { e.Root = t.TempDir() }, "vhost-net", doctor.Warning, "does not exist"},
		{func(*doctor.Env) {}, "vhost-vsock", doctor.Warning, "/dev/vhost-vsock does not exist"},
		{func(e *doctor.Env) { e.LookPath = func(string) (string, error) { return "", exec.ErrNotFound } }, "openvswitch", doctor.OK, "not installed"},
	} {
		x := e
		c.change(&x)
		if f := one(t, doctor.Run(context.Background(), x), c.name); f.Status != c.status || !strings.Contains(f.Evidence, c.evidence) {
			t.Errorf("got %+v; want %s …%s…", f, c.status, c.evidence)
		}
	}
}

func TestOpenVSwitchIsAskedNotAssumed(t *testing.T) {
	t.Parallel()
	_, e := env(t)
	l := listen(t, filepath.Join(e.Root, "run/openvswitch/db.sock"))
	if f := one(t, doctor.Run(context.Background(), e), "openvswitch"); f.Status != doctor.OK || !strings.Contains(f.Evidence, "answers") {
		t.Errorf("got %+v", f)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if f := one(t, doctor.Run(context.Background(), e), "openvswitch"); f.Status != doctor.Warning || !strings.Contains(f.Evidence, "nobody answers") {
		t.Errorf("got %+v", f)
	}
}

func TestAnEndedContextStopsTheRun(t *testing.T) {
	t.Parallel()
	_, e := env(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if all := doctor.Run(ctx, e); len(all) != 0 {
		t.Errorf("got %+v", all)
	}
}

func TestFindingsAreWrittenForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	all := []doctor.Finding{{Name: "kvm", Status: doctor.OK, Evidence: "works"}, {Name: "vhost-net", Status: doctor.Warning, Evidence: "gone", Remedy: "bring it back"}}
	var text, js, none bytes.Buffer
	if err := errors.Join(doctor.WriteText(&text, all), doctor.WriteJSON(&js, all), doctor.WriteJSON(&none, nil)); err != nil {
		t.Fatal(err)
	}
	want := "ok       kvm        works\nwarning  vhost-net  gone\n                    -> bring it back\n"
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	var back struct{ Findings []doctor.Finding }
	if err := json.Unmarshal(js.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(all, back.Findings); d != "" || !strings.Contains(none.String(), "[]") {
		t.Errorf("JSON (-want +got):\n%s\nnone: %s", d, none.String())
	}
	for want, list := range map[doctor.Status][]doctor.Finding{
		doctor.OK: all[:1], doctor.Warning: all, doctor.Problem: append([]doctor.Finding{{Status: doctor.Problem}}, all...),
	} {
		if got := doctor.Worst(list); got != want {
			t.Errorf("worst of %+v is %s", list, got)
		}
	}
}
