package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

const withAgent = `<domain type='qemu'><name>d</name><uuid>11111111-2222-3333-4444-555555555555</uuid><memory>1024</memory><vcpu>1</vcpu>
<on_reboot>restart</on_reboot><devices>
<controller type='scsi' index='0' model='virtio-scsi'><address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/></controller>
<disk type='file' device='disk'><source file='/a'/><target dev='vda' bus='virtio'/><address type='pci' domain='0x0000' bus='0x00' slot='0x04' function='0x0'/></disk>
<disk type='file' device='disk'><source file='/b'/><target dev='sda' bus='scsi'/><address type='drive' controller='0' bus='0' target='0' unit='1'/></disk>
<channel type='unix'><source mode='bind' path='SOCKET'/><target type='virtio' name='org.qemu.guest_agent.0'/><alias name='channel0'/></channel>
</devices></domain>`

// agentDouble is a guest that runs, whose agent answers each command, by name, with what is said here; the empty answer is
// none. It notes what it was asked.
type agentDouble struct {
	e    *Engine
	d    *domain
	run  *running
	mu   sync.Mutex
	told []string
}

func newAgentDouble(t *testing.T, answers map[string]string) *agentDouble {
	t.Helper()
	socket := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	a := guestOn(t, socket)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			a.serve(conn, answers) // one after the other, as a port does
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return a
}

// guestOn is a guest that runs whose agent is behind a socket.
func guestOn(t *testing.T, socket string) *agentDouble {
	t.Helper()
	doc, err := spec.ParseDomain([]byte(strings.ReplaceAll(withAgent, "SOCKET", socket)))
	if err != nil {
		t.Fatal(err)
	}
	a := &agentDouble{e: small(t), d: newDomain(*doc.UUID, doc.Name, nil), run: newRunning(record{Name: doc.Name, UUID: *doc.UUID, ID: 3}, doc)}
	if _, ok := a.e.domains.add(a.d); !ok {
		t.Fatal("the domain was not taken in")
	}
	a.run.channels.set("channel0", true)
	a.d.update(func(v *view) { v.run, v.ref.ID, v.ref.State = a.run, 3, server.DomainRunning })
	return a
}

// shortDir is a folder whose name leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "qga")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (a *agentDouble) serve(conn net.Conn, answers map[string]string) {
	defer conn.Close()
	for s := bufio.NewScanner(conn); s.Scan(); {
		var q struct {
			Execute   string          `json:"execute"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(s.Text(), "\xff")), &q) != nil {
			return
		}
		if q.Execute == "guest-sync-delimited" {
			if answers["sync"] != "mute" {
				fmt.Fprintf(conn, "\xff{\"return\": %s}\n", strings.TrimSuffix(strings.TrimPrefix(string(q.Arguments), `{"id":`), "}"))
			}
			continue
		}
		a.mu.Lock()
		a.told = append(a.told, strings.TrimSpace(q.Execute+" "+string(q.Arguments)))
		a.mu.Unlock()
		answer, known := answers[q.Execute]
		if !known {
			answer = `{"error": {"class": "CommandNotFound", "desc": "no such command"}}`
		}
		if answer != "" {
			fmt.Fprintln(conn, answer)
		}
		if q.Execute == "guest-shutdown" {
			a.run.channels.set("channel0", false)
		}
	}
}

func (a *agentDouble) asked() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.told, "\n")
}

// returns is an answer.
func returns(value string) string { return `{"return": ` + value + `}` }

const (
	threeVCPUs = `[{"logical-id": 0, "online": true, "can-offline": false}, {"logical-id": 1, "online": true, "can-offline": true}, {"logical-id": 2, "online": false, "can-offline": true}]`
	filesystem = `[{"name": "vda1", "mountpoint": "/", "type": "ext4", "used-bytes": 5, "total-bytes": 9, "disk": [
{"bus-type": "virtio", "bus": 0, "target": 0, "unit": 0, "dev": "/dev/vda1", "pci-controller": {"domain": 0, "bus": 0, "slot": 4, "function": 0}},
{"bus-type": "scsi", "bus": 0, "target": 0, "unit": 1, "serial": "S", "pci-controller": {"domain": 0, "bus": 0, "slot": 5, "function": 0}},
{"bus-type": "scsi", "bus": 0, "target": 0, "unit": 1, "pci-controller": {"domain": 0, "bus": 0, "slot": 6, "function": 0}}]}]`
)

func TestWhatAGuestsAgentSaysReachesClients(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, map[string]string{
		"guest-get-users":              returns(`[{"user": "joe", "domain": "", "login-time": 1700000000.5}]`),
		"guest-get-osinfo":             returns(`{"id": "debian", "pretty-name": "Debian 12", "kernel-release": "6.1"}`),
		"guest-get-timezone":           returns(`{"zone": "CET", "offset": 3600}`),
		"guest-get-host-name":          returns(`{"host-name": "box"}`),
		"guest-get-fsinfo":             returns(strings.ReplaceAll(filesystem, "\n", "")),
		"guest-network-get-interfaces": returns(`[{"name": "lo"}, {"name": "eth0", "hardware-address": "52:54:00:00:00:01", "ip-addresses": [{"ip-address-type": "ipv6", "ip-address": "fe80::1", "prefix": 64}]}]`),
		"guest-get-vcpus":              returns(threeVCPUs), "guest-get-time": returns("1700000000000000005"),
		"guest-ssh-get-authorized-keys": returns(`{"keys": ["ssh-ed25519 A"]}`),
	})
	ctx, id := t.Context(), a.d.uuid
	got, err := a.e.GuestInfo(ctx, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []server.Param{
		remote.UintParam("user.count", 1), remote.StringParam("user.0.name", "joe"), remote.Uint64Param("user.0.login-time", 1700000000500),
		remote.StringParam("os.id", "debian"), remote.StringParam("os.pretty-name", "Debian 12"), remote.StringParam("os.kernel-release", "6.1"),
		remote.StringParam("timezone.name", "CET"), remote.IntParam("timezone.offset", 3600), remote.StringParam("hostname", "box"),
		remote.UintParam("fs.count", 1), remote.StringParam("fs.0.name", "vda1"), remote.StringParam("fs.0.mountpoint", "/"), remote.StringParam("fs.0.fstype", "ext4"),
		remote.Uint64Param("fs.0.total-bytes", 9), remote.Uint64Param("fs.0.used-bytes", 5), remote.UintParam("fs.0.disk.count", 3),
		remote.StringParam("fs.0.disk.0.alias", "vda"), remote.StringParam("fs.0.disk.0.device", "/dev/vda1"),
		remote.StringParam("fs.0.disk.1.alias", "sda"), remote.StringParam("fs.0.disk.1.serial", "S"),
		remote.UintParam("if.count", 2), remote.StringParam("if.0.name", "lo"), remote.StringParam("if.1.name", "eth0"), remote.StringParam("if.1.hwaddr", "52:54:00:00:00:01"),
		remote.UintParam("if.1.addr.count", 1), remote.StringParam("if.1.addr.0.type", "ipv6"), remote.StringParam("if.1.addr.0.addr", "fe80::1"), remote.UintParam("if.1.addr.0.prefix", 64),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := a.e.GuestInfo(ctx, id, server.GuestInfoDisks); virterr.CodeOf(err) != virterr.AgentCommandFailed {
		t.Errorf("what was asked for by name and the agent does not know: %v", err)
	}
	addrs, err := a.e.InterfaceAddresses(ctx, id, server.AddressesAgent)
	if diff := cmp.Diff([]server.InterfaceAddresses{{Name: "lo"}, {Name: "eth0", MAC: "52:54:00:00:00:01", Addresses: []server.Address{{IPv6: true, Addr: "fe80::1", Prefix: 64}}}}, addrs); diff != "" || err != nil {
		t.Errorf("addresses (%v) (-want +got):\n%s", err, diff)
	}
	mounted, err := a.e.GuestFilesystems(ctx, id)
	if diff := cmp.Diff([]server.GuestFilesystem{{Mountpoint: "/", Name: "vda1", Type: "ext4", Disks: []string{"vda", "sda"}}}, mounted); diff != "" || err != nil {
		t.Errorf("file systems (%v) (-want +got):\n%s", err, diff)
	}
	cpus, err := a.e.GuestVCPUs(ctx, id)
	if diff := cmp.Diff([]server.Param{remote.StringParam("vcpus", "0-2"), remote.StringParam("online", "0-1"), remote.StringParam("offlinable", "1-2")}, cpus); diff != "" || err != nil {
		t.Errorf("processors (%v) (-want +got):\n%s", err, diff)
	}
	if n, err := a.e.GuestVCPUCount(ctx, id, false); n != 2 || err != nil {
		t.Errorf("the guest uses %d processors (%v)", n, err)
	}
	if at, err := a.e.GuestTime(ctx, id); !at.Equal(time.Unix(1700000000, 5)) || err != nil {
		t.Errorf("the time is %v (%v)", at, err)
	}
	if keys, err := a.e.GuestSSHKeys(ctx, id, "joe"); fmt.Sprint(keys) != "[ssh-ed25519 A]" || err != nil {
		t.Errorf("keys are %v (%v)", keys, err)
	}
}

func TestAGuestsAgentIsAskedInItsOwnTerms(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, map[string]string{
		"guest-fsfreeze-freeze": returns("2"), "guest-fsfreeze-freeze-list": returns("1"), "guest-fsfreeze-thaw": returns("2"), "guest-fstrim": returns(`{"paths": []}`),
		"guest-set-user-password": returns("{}"), "guest-ssh-add-authorized-keys": returns("{}"), "guest-ssh-remove-authorized-keys": returns("{}"),
		"guest-get-vcpus": returns(threeVCPUs), "guest-set-vcpus": returns("1"), "guest-shutdown": "", "guest-ping": returns("{}"),
	})
	ctx, id := t.Context(), a.d.uuid
	for _, c := range []struct {
		do   func() error
		want string // what the agent is asked
	}{
		{func() error { _, err := a.e.FreezeFilesystems(ctx, id, nil); return err }, `guest-fsfreeze-freeze`},
		{func() error { _, err := a.e.FreezeFilesystems(ctx, id, []string{"/"}); return err }, `guest-fsfreeze-freeze-list {"mountpoints":["/"]}`},
		{func() error { _, err := a.e.ThawFilesystems(ctx, id); return err }, `guest-fsfreeze-thaw`},
		{func() error { return a.e.TrimFilesystems(ctx, id, 4096) }, `guest-fstrim {"minimum":4096}`},
		{func() error { return a.e.SetGuestPassword(ctx, id, "joe", "s", true) }, `guest-set-user-password {"crypted":true,"password":"cw==","username":"joe"}`},
		{func() error { return a.e.SetGuestSSHKeys(ctx, id, "joe", []string{"k"}, 0) }, `guest-ssh-add-authorized-keys {"keys":["k"],"reset":true,"username":"joe"}`},
		{func() error { return a.e.SetGuestSSHKeys(ctx, id, "joe", []string{"k"}, server.SSHKeysRemove) }, `guest-ssh-remove-authorized-keys {"keys":["k"],"username":"joe"}`},
		{func() error { return a.e.SetGuestVCPUs(ctx, id, "2", true) }, "guest-get-vcpus\n" + `guest-set-vcpus {"vcpus":[{"logical-id":2,"online":true}]}`},
		{func() error { return a.e.SetGuestVCPUCount(ctx, id, 1) }, "guest-get-vcpus\n" + `guest-set-vcpus {"vcpus":[{"logical-id":1,"online":false}]}`},
		{func() error { _, err := a.e.AgentCommand(ctx, id, `{"execute": "guest-ping"}`, 5); return err }, "guest-ping"},
		{func() error { return a.e.RebootDomain(ctx, id, 0) }, `guest-shutdown {"mode":"reboot"}`},
	} {
		a.mu.Lock()
		a.told = nil
		a.mu.Unlock()
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
		if diff := cmp.Diff(c.want, a.asked()); diff != "" {
			t.Errorf("the agent was asked (-want +got):\n%s", diff)
		}
	}
	if got := a.run.rec().Tainted; fmt.Sprint(got) != "["+taintAgentCommand+"]" {
		t.Errorf("the guest is tainted with %v", got)
	}
}

func TestAnAgentThatMisbehavesHasLibvirtsErrors(t *testing.T) {
	t.Parallel()
	bad := func(change func(*agentDouble), answers map[string]string) func(t *testing.T) error {
		return func(t *testing.T) error {
			a := newAgentDouble(t, answers)
			change(a)
			_, err := a.e.GuestHostname(t.Context(), a.d.uuid, server.HostnameAgent)
			return err
		}
	}
	patience := func(s int32) func(*agentDouble) {
		return func(a *agentDouble) {
			if err := a.e.SetAgentTimeout(t.Context(), a.d.uuid, s); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		ask  func(t *testing.T) error
		want virterr.Code
	}{
		{"does not run", bad(func(a *agentDouble) { a.d.update(func(v *view) { v.run, v.ref.State = nil, server.DomainShutoff }) }, nil), virterr.NoDomain},
		{"is paused", bad(func(a *agentDouble) { a.d.update(func(v *view) { v.ref.State = server.DomainPaused }) }, nil), virterr.OperationInvalid},
		{"is not there", bad(func(a *agentDouble) { a.run.channels.set("channel0", false) }, nil), virterr.AgentUnresponsive},
		{"says nothing", bad(patience(0), map[string]string{"sync": "mute"}), virterr.AgentUnresponsive},
		{"falls silent", bad(patience(0), map[string]string{"guest-get-host-name": ""}), virterr.AgentCommandTimeout},
		{"talks nonsense", bad(patience(2), map[string]string{"guest-get-host-name": "[]"}), virterr.AgentUnsynced},
		{"refuses", bad(patience(2), nil), virterr.AgentCommandFailed},
		{"has no name", bad(patience(2), map[string]string{"guest-get-host-name": returns(`{"host-name": ""}`)}), virterr.NoHostname},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.ask(t); virterr.CodeOf(err) != c.want {
				t.Errorf("got %v, code %d, want %d", err, virterr.CodeOf(err), c.want)
			}
		})
	}
}

func TestAnAgentThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	a := newAgentDouble(t, map[string]string{"guest-get-time": ""})
	hung := make(chan error, 1)
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() { _, err := a.e.GuestTime(t.Context(), a.d.uuid); hung <- err })
	whenTrue(t, "a question to the agent", func() bool { return a.asked() != "" })
	j, err := a.d.slot.Begin(t.Context(), "something else")
	if err != nil {
		t.Fatal(err)
	}
	j.End()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.e.GuestTime(ctx, a.d.uuid); virterr.CodeOf(err) != virterr.AgentUnresponsive {
		t.Errorf("a second conversation: %v", err)
	}
	a.run.channels.reset() // the guest restarts
	if err := <-hung; virterr.CodeOf(err) != virterr.AgentUnresponsive || !strings.Contains(err.Error(), "closed its end") {
		t.Errorf("the conversation that hung ended with %v", err)
	}
}

// The agent is the distribution's own, on this host. What would change the host is turned off.
func TestQEMUsOwnAgentAnswersTheCallsThatRead(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	socket := filepath.Join(dir, "s")
	path, err := exec.LookPath("qemu-ga")
	if err != nil {
		path = "/usr/sbin/qemu-ga"
	}
	cmd := exec.CommandContext(t.Context(), path, "-m", "unix-listen", "-p", socket, "-t", dir,
		"-b", "guest-shutdown,guest-set-time,guest-exec,guest-set-vcpus,guest-set-user-password,guest-fsfreeze-freeze,guest-fstrim,guest-suspend-ram,guest-suspend-disk,guest-suspend-hybrid")
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; `make setup-test` installs qemu-guest-agent", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	whenTrue(t, "the agent to listen", func() bool { return listens(t, socket) })
	a := guestOn(t, socket)
	ctx, id := t.Context(), a.d.uuid
	info, err := a.e.GuestInfo(ctx, id, server.GuestInfoOS|server.GuestInfoTimezone|server.GuestInfoHostname|server.GuestInfoUsers|server.GuestInfoInterfaces)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, p := range info {
		have[p.Field] = true
	}
	for _, field := range []string{"os.kernel-release", "timezone.offset", "hostname", "user.count", "if.count", "if.0.name"} {
		if !have[field] {
			t.Errorf("there is no %s: %v", field, info)
		}
	}
	if at, err := a.e.GuestTime(ctx, id); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("the time is %v (%v)", at, err)
	}
	if err := a.e.SetGuestTime(ctx, id, time.Time{}); virterr.CodeOf(err) != virterr.AgentCommandFailed {
		t.Errorf("what is turned off: %v", err)
	}
}

// listens reports whether somebody listens on a socket. One that is there is not yet: it is bound first.
func listens(t *testing.T, socket string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	const accepts = "00010000" // __SO_ACCEPTCON
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 8 && f[7] == socket && f[3] == accepts {
			return true
		}
	}
	return false
}

// whenTrue waits for what nobody tells of.
func whenTrue(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
