package nictest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/appliance"
	"taproom/internal/appliance/wire"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/qemu/emutest"
)

// busy is how many guests one with NICs of all kinds counts as in waits: it does the work of several.
const busy = 8

// nic is a NIC of a test's guest.
type nic struct {
	attachment
	model  string
	driver string // <driver name=>; "" leaves it open
}

// drivers are what the guest's kernel calls the driver of a model.
func drivers() map[string]string {
	return map[string]string{"e1000": "e1000", "e1000e": "e1000e", "rtl8139": "8139cp", "virtio": "virtio_net"}
}

// One guest has them all: every attachment, and every model at least once.
func TestNICsOfEveryModelAndAttachmentPassTraffic(t *testing.T) {
	t.Parallel()
	models := []string{"virtio", "e1000e", "e1000", "virtio", "rtl8139", "virtio"}
	var nics []nic
	for i, a := range attachments() {
		nics = append(nics, nic{attachment: a, model: models[i%len(models)]})
	}
	try(t, nics)
}

// Every model on every attachment: a guest for each model.
func TestEveryModelWorksOnEveryAttachment(t *testing.T) {
	if os.Getenv("TAPROOM_NICS") == "" {
		t.Skip("four guests boot: run `make nics`")
	}
	for _, model := range []string{"e1000", "e1000e", "rtl8139", "virtio"} {
		t.Run(model, func(t *testing.T) {
			var nics []nic
			for _, a := range attachments() {
				nics = append(nics, nic{attachment: a, model: model, driver: map[bool]string{true: "qemu"}[model == "virtio"]})
			}
			try(t, nics)
		})
	}
}

// With vhost-net it is the kernel that moves the packets, and the daemon says so.
func TestVHostCarriesTheTrafficOfVirtioNICsWhereTheKernelHasIt(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	hosttest.Needs(t, k.ProbeVHostNet(), hosttest.Lift{Module: "vhost_net"})
	var nics []nic
	for _, a := range attachments() {
		if !a.noVHost {
			nics = append(nics, nic{attachment: a, model: "virtio", driver: map[bool]string{true: "vhost"}[len(nics)%2 == 0]})
		}
	}
	try(t, nics)
}

// try boots a guest with NICs and holds that each has an address and passes traffic.
func try(t *testing.T, nics []nic) {
	t.Helper()
	(&machine{T: t}).try(nics)
}

func (m *machine) try(nics []nic) {
	m.Helper()
	m.daemon = daemontest.Prepare(m.T)
	if slices.ContainsFunc(nics, func(n nic) bool { return n.onSwitch }) {
		m.withSwitch()
	}
	if err := m.daemon.Start(); err != nil {
		m.Fatal(err)
	}
	m.client = m.daemon.Client()
	m.start(nics)
	m.says(nics)
	m.notes()
	m.traffic(nics)
	m.remove(nics)
}

// traffic holds that each NIC has an address and passes what is sent, both ways.
func (m *machine) traffic(nics []nic) {
	m.Helper()
	byMAC := m.links(nics)
	tcp, udp := echoServers(m.T, m.daemon.NS)
	for i, nic := range nics {
		link, ok := byMAC[mac(i)]
		if !ok {
			continue
		}
		m.fromGuest(nic, link.Name, tcp, udp)
		for _, protocol := range []string{"tcp", "udp"} {
			ask[wire.Listening](m, wire.OpListen, wire.Listen{Protocol: protocol, Link: link.Name, Port: guestPort})
		}
		m.fromHost(nic, link.Lease.Address)
		if m.Failed() {
			break // each wait for what does not come is long
		}
	}
}

// links are the guest's, by address, once each has a lease. Those that have none, or not the driver and interrupts that they
// should, are said to be missing.
func (m *machine) links(nics []nic) map[string]wire.NIC {
	m.Helper()
	seconds := busy / 2 * emutest.Seconds() // so that the guest answers, with what it has, before it is not waited for
	ask[wire.Hello](m, wire.OpHello, wire.HelloWait{Seconds: seconds})
	n := ask[wire.Network](m, wire.OpNetwork, wire.NetworkWait{Leases: len(nics), Seconds: seconds})
	byMAC := map[string]wire.NIC{}
	for _, l := range n.NICs {
		byMAC[l.MAC] = l
	}
	for i, nic := range nics {
		link := byMAC[mac(i)]
		if link.Lease == nil || link.Driver != drivers()[nic.model] || m.vectors != nil && link.Vectors != *m.vectors {
			m.Errorf("%s on %s: the guest has %+v", nic.model, nic.name, link)
		}
		if link.Lease == nil {
			delete(byMAC, mac(i))
		}
	}
	if m.Failed() {
		said, _ := os.ReadFile(m.console)
		m.Logf("the guest said: %s", said)
	}
	return byMAC
}

// machine is a guest that boots.
type machine struct {
	*testing.T
	daemon *daemontest.Daemon
	client *client.Client
	guest  string // its document

	console    string // what it says, in a file
	processors int    // 0 is one
	vectors    *int   // how many interrupts by message each NIC is to have; nil for any number
	parameters string // of its kernel
	shell      string // what scripts begin with

	progress emutest.Progress // of the guest that boots last
}

const name = "nics"

func mac(i int) string { return fmt.Sprintf("52:54:00:00:20:%02x", i+1) }

// start brings up what the NICs are attached to, and the guest.
func (m *machine) start(nics []nic) {
	m.Helper()
	for _, n := range nics {
		if n.network != "" {
			m.apply(n.network, false)
		}
		if n.prepare != "" {
			m.daemon.NS.Shell("set -e; " + m.shell + n.prepare)
		}
	}
	m.guest = m.document(nics)
	defer emutest.Boot(m.T)()
	defer m.follow()()
	m.apply(m.guest, false)
	ask[wire.Hello](m, wire.OpHello, wire.HelloWait{Seconds: busy / 2 * emutest.Seconds()})
}

func (m *machine) document(nics []nic) string {
	m.Helper()
	g, err := appliance.Ensure(m.Context(), appliance.Options{AgentPath: filepath.Join(m.daemon.Programs(), "taproom-agent")})
	if err != nil {
		m.Fatal(err)
	}
	var b strings.Builder
	for i, n := range nics {
		driver := ""
		if n.driver != "" {
			driver = "<driver name='" + n.driver + "'/>"
		}
		fmt.Fprintf(&b, "<interface type='%s'><mac address='%s'/>%s<model type='%s'/>%s<rom enabled='no'/></interface>", n.kind, mac(i), n.inside, n.model, driver)
	}
	m.console = filepath.Join(m.TempDir(), "console")
	return fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>%d</memory><vcpu>%d</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>
  <features><acpi/></features>
  <devices><controller type='usb' model='none'/>%s<serial type='file'><source path='%s'/></serial>
    <channel type='unix'><target type='virtio' name='%s'/></channel><memballoon model='none'/></devices></domain>`,
		name, 192+2*len(nics), max(m.processors, 1), g.Kernel, g.Initrd, strings.TrimPrefix(g.Cmdline, "quiet ")+" "+m.parameters, b.String(), m.console, wire.PortName)
}

// apply makes a document's object exist and run, or go.
func (m *machine) apply(xml string, remove bool) {
	m.Helper()
	r, err := m.client.Apply(m.Context(), own.ApplyRequest{Remove: remove, Documents: []own.Document{{Name: "document.xml", XML: xml}}})
	if err != nil {
		m.Fatal(err)
	}
	for _, o := range r.Objects {
		if o.Error != "" {
			m.Fatalf("%s: %s", o.Name, o.Error)
		}
	}
}

// remove takes everything away, and looks whether something is left.
func (m *machine) remove(nics []nic) {
	m.Helper()
	m.apply(m.guest, true)
	for _, n := range nics {
		if n.undo != "" {
			m.daemon.NS.Shell("set -e; " + m.shell + n.undo)
		}
		if n.network != "" {
			m.apply(n.network, true)
		}
	}
	if left := m.daemon.Leftovers(); left != nil {
		m.Errorf("left: %v", left)
	}
}

// follow has the guest's progress follow its console, until the returned function is called.
func (m *machine) follow() (end func()) {
	ctx, cancel := context.WithCancel(m.Context())
	var over sync.WaitGroup
	over.Go(func() { m.progress.Follow(ctx, m.console) })
	return func() {
		cancel()
		over.Wait()
	}
}

// ask puts a question to the agent in the guest. Where the guest itself waits for leases, or sends and receives, there is nothing that tells
// of its progress.
func ask[T any](m *machine, op wire.Op, args any) T {
	m.Helper()
	progress := &m.progress
	if op == wire.OpNetwork || op == wire.OpTraffic {
		progress = nil
	}
	ctx, cancel := emutest.Watch(m.Context(), busy, progress)
	defer cancel()
	request, err := json.Marshal(map[string]any{"op": op, "args": args})
	if err != nil {
		m.Fatal(err)
	}
	reply, err := m.client.Agent(ctx, name, request)
	if err != nil {
		m.Fatalf("ask the guest for %s: %v; %v\nthe daemon said: %s", op, err, context.Cause(ctx), m.daemon.Said())
	}
	m.progress.Event("the agent's answer to " + string(op))
	var answer T
	if len(reply) > 0 {
		if err := json.Unmarshal(reply, &answer); err != nil {
			m.Fatal(err)
		}
	}
	return answer
}

// says holds that the daemon says what moves each NIC's packets: the kernel where it was asked to, and QEMU where it cannot.
func (m *machine) says(nics []nic) {
	m.Helper()
	s, err := m.client.Status(m.Context())
	if err != nil || len(s.Domains) != 1 || len(s.Domains[0].NICs) != len(nics) {
		m.Fatalf("status: %+v, %v", s.Domains, err)
	}
	works := m.daemon.NS.Kernel().ProbeVHostNet() == nil
	for i, n := range nics {
		want := map[bool]string{true: "vhost", false: "qemu"}[works && n.model == "virtio" && n.driver != "qemu" && !n.noVHost]
		if got := s.Domains[0].NICs[i]; got.Datapath != want || got.MAC != mac(i) || got.Model != n.model || got.Type != n.kind {
			m.Errorf("%s on %s: the daemon says %+v, want datapath %s", n.model, n.name, got, want)
		}
	}
	dom, err := m.client.Domain(m.Context(), name)
	if err != nil {
		m.Fatal(err)
	}
	xml, err := m.client.DomainXML(m.Context(), dom, 0)
	if err != nil {
		m.Fatal(err)
	}
	vhosts := 0
	for _, n := range s.Domains[0].NICs {
		if n.Datapath == "vhost" {
			vhosts++
		}
	}
	if got := strings.Count(xml, "<driver name='vhost'"); got != vhosts {
		m.Errorf("%d NICs have vhost, and the document says so of %d:\n%s", vhosts, got, xml)
	}
}

// notes holds that the daemon says so, to whoever lists what there is and to libvirt's clients, when the NICs have fewer
// interrupts than they would take, and else nothing.
func (m *machine) notes() {
	m.Helper()
	s, err := m.client.Status(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	dom, err := m.client.Domain(m.Context(), name)
	if err != nil {
		m.Fatal(err)
	}
	var messages remote.Strings
	if err := m.client.Call(m.Context(), remote.ProgramRemote, remote.ProcDomainGetMessages, &remote.DomainFlags{Domain: dom}, &messages); err != nil {
		m.Fatal(err)
	}
	want := ""
	switch {
	case m.vectors == nil, *m.vectors == 3:
	case *m.vectors == 0:
		want = "so they have no MSI-X and share the lines of PCI"
	default:
		want = "so the queues of each share one"
	}
	for whom, said := range map[string][]string{"taproom ls": s.Problems, "virsh dominfo": messages.S, "the log": strings.Split(m.daemon.Said(), "\n")} {
		if got := slices.ContainsFunc(said, func(l string) bool { return strings.Contains(l, " virtio NICs would take ") }); got != (want != "") || !strings.Contains(strings.Join(said, "\n"), want) {
			m.Errorf("%s says %q, want %q in it", whom, said, want)
		}
	}
}
