package clienttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/appliance"
	"taproom/internal/appliance/wire"
	"taproom/internal/daemon/daemontest"
)

// serveSession is serve for the daemon and the clients of a user without root.
func serveSession(t *testing.T) *clients {
	t.Helper()
	c := prepareSession(t)
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// prepareSession is serveSession before the daemon was started.
func prepareSession(t *testing.T) *clients {
	t.Helper()
	c := &clients{t: t, daemon: daemontest.PrepareSession(t)}
	c.work = filepath.Join(c.daemon.Root, "work")
	if err := os.Mkdir(c.work, 0o755); err != nil {
		t.Fatal(err)
	}
	c.disk("disk.img")
	c.give("disk.img")
	for name, mode := range map[string]os.FileMode{"secret.img": 0o600, "readonly.img": 0o644} { // root's
		c.disk(name)
		if err := os.Chmod(filepath.Join(c.work, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(c.work, "locked"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.disk("locked/locked.img")
	return c
}

// give makes a file of the clients' folder the user's.
func (c *clients) give(name string) {
	c.t.Helper()
	uid := int(c.daemon.User().ID)
	if err := os.Chown(filepath.Join(c.work, name), uid, uid); err != nil {
		c.t.Fatal(err)
	}
}

// The daemon of a user without root, as that user's virsh sees it.
func TestVirshTellsTheseStoriesOfASession(t *testing.T) {
	t.Parallel()
	stories, err := filepath.Glob("testdata/session/*.story")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range stories {
		name, _ := filepath.Rel("testdata", path)
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			c := serveSession(t)
			c.tell(name)
			if left := c.daemon.Leftovers(); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A guest of a session boots, gets an address from QEMU's own DHCP server, outlives its daemon and shuts down.
func TestAGuestOfASessionHasUserNetworking(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	m := c.installUser()
	first := m.start()
	if got, want := m.lease(), "10.0.2.15/24"; got != want {
		t.Errorf("the guest's address is %s, want %s", got, want)
	}
	m.restart("kill")
	m.client = m.daemon.Client()
	if again := m.boot(); again != first {
		t.Errorf("the guest booted again when the daemon did: %s, before %s", again, first)
	}
	m.do("shutdown", "demo")
	m.ended()
	m.do("undefine", "demo")
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A guest of root's daemon on a user network of its own choice is reached at the host's ports that its document names.
func TestAUserNetworkForwardsPorts(t *testing.T) {
	t.Parallel()
	c := serve(t)
	m := c.installUser("<interface type='user'>", `<interface type='user'>
      <ip family='ipv4' address='172.17.2.0' prefix='24'/>
      <portForward proto='tcp' address='127.0.0.1'><range start='2022' to='22'/></portForward>`)
	m.start()
	if got, want := m.lease(), "172.17.2.15/24"; got != want {
		t.Errorf("the guest's address is %s, want %s", got, want)
	}
	m.echo("tcp", 22, "127.0.0.1:2022")
	m.do("destroy", "demo")
	m.do("undefine", "demo")
	if left := m.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// passt serves a guest's NIC from beside its QEMU, for root's daemon and for a session's: the guest gets the address of its
// document, is reached through the forwarded port when another daemon has taken over, and passt ends with it. It is reached by
// UDP: on a busy host a guest sends its SYN,ACK again, and Debian 12's passt (2023-03-09) never leaves the loop of tap.c that
// counts the segments of a batch when the SYN,ACK is one of two.
func TestPasstServesAUserNetwork(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*testing.T) *clients{"system": func(t *testing.T) *clients { return serve(t) }, "session": serveSession} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			// passt takes the host's link with the default route as its model; this one leads nowhere.
			c.daemon.NS.Shell("ip link add uplink type bridge; ip address add 10.0.0.2/8 dev uplink; ip link set uplink up; ip route add default via 10.0.0.1 dev uplink")
			c.daemon.NS.Keep("link uplink")
			m := c.installUser("<interface type='user'>", `<interface type='user'>
      <ip family='ipv4' address='10.9.8.7' prefix='8'/>
      <portForward proto='tcp' address='127.0.0.1'><range start='2022' to='22'/></portForward>
      <portForward proto='udp' address='127.0.0.1'><range start='2022' to='22'/></portForward>
      <backend type='passt'/>`)
			m.start()
			if got, want := m.lease(), "10.9.8.7/8"; got != want {
				t.Errorf("the guest's address is %s, want %s", got, want)
			}
			m.restart("kill")
			m.client = m.daemon.Client()
			m.echo("udp", 22, "127.0.0.1:2022")
			passt := m.pidOf("net0")
			m.write("nic.xml", m.do("dumpxml", "demo", "--xpath", "//interface"))
			m.do("detach-device", "demo", "nic.xml", "--live")
			m.goes(passt, "passt, whose NIC was taken out")
			m.do("destroy", "demo")
			m.do("undefine", "demo")
			if left := m.daemon.Leftovers(); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Without a link that leads anywhere passt ends at once, and a guest with a dead NIC is not what was asked for.
func TestAGuestWhosePasstDoesNotServeIsNotStarted(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	c.write("tiny.xml", strings.Replace(tiny, "<interface type='user'>", "<interface type='user'><backend type='passt' logFile='"+c.daemon.User().Home()+"/passt.log'/>", 1))
	out, code := c.run(c.virsh("create", "tiny.xml"))
	if code == 0 || !strings.Contains(out, "the program that serves its device net0 ended at once (exit status 1); what it said is in "+c.daemon.User().Home()+"/passt.log") {
		t.Errorf("exit %d: %s", code, out)
	}
	if said, err := os.ReadFile(filepath.Join(c.daemon.User().Home(), "passt.log")); err != nil || !strings.Contains(string(said), "No external routable interface") {
		t.Errorf("its log: %q, %v", said, err)
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A TPM of a session's guest is made by the user's own authority, keeps its state, and ends with the guest.
func TestASessionsGuestHasATPM(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	c.write("tiny.xml", strings.Replace(tiny, "<graphics", "<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm><graphics", 1))
	c.do("define", "tiny.xml")
	for range 2 {
		c.do("start", "tiny")
		c.restart("kill")
		if got := strings.TrimSpace(c.do("domstate", "tiny")); got != "running" {
			t.Errorf("the guest is %s", got)
		}
		if n := len(c.daemon.Processes()); n != 2 {
			t.Errorf("%d processes of the user beside the daemon, want QEMU and swtpm", n)
		}
		c.do("destroy", "tiny")
	}
	if _, err := os.Stat(filepath.Join(c.daemon.User().Home(), ".config/swtpm-localca.conf")); err != nil {
		t.Error(err)
	}
	c.do("undefine", "tiny", "--tpm")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A tap that an administrator made for a user carries the frames of that user's guest, and stays when the guest has ended.
func TestAGuestOfASessionUsesATapThatWasMadeForTheUser(t *testing.T) {
	t.Parallel()
	c := serveSession(t)
	on := func(tap string) string {
		return strings.Replace(tiny, "<interface type='user'>", "<interface type='ethernet'><target dev='"+tap+"' managed='no'/>", 1)
	}
	c.write("none.xml", on("none0"))
	if out, code := c.run(c.virsh("create", "none.xml")); code == 0 || !strings.Contains(out, "none0: ") {
		t.Errorf("exit %d: %s", code, out)
	}
	ns := c.daemon.NS
	// As most systems have it; some leave it to root.
	tun := filepath.Join(c.daemon.Root, "tun")
	ns.Shell(fmt.Sprintf("mknod %[1]s c 10 200; chmod 666 %[1]s; mount --bind %[1]s /dev/net/tun", tun))
	ns.Shell(fmt.Sprintf("ip tuntap add dev given0 mode tap user %d; ip link set given0 up", c.daemon.User().ID))
	ns.Shell("ip tuntap add dev roots0 mode tap user 1")
	ns.Keep("link given0", "link roots0")
	c.write("roots.xml", on("roots0"))
	if out, code := c.run(c.virsh("create", "roots.xml")); code == 0 || !strings.Contains(out, "operation not permitted") {
		t.Errorf("a tap of another user: exit %d: %s", code, out)
	}
	c.write("tiny.xml", on("given0"))
	c.do("create", "tiny.xml")
	if up := ns.Run("ip", "link", "show", "given0"); !strings.Contains(up, "LOWER_UP") {
		t.Errorf("nobody is at the other end: %s", up)
	}
	if xml := c.do("dumpxml", "tiny"); !strings.Contains(xml, "<target dev='given0' managed='no'/>") {
		t.Errorf("the live document: %s", xml)
	}
	c.restart("kill")
	c.do("destroy", "tiny")
	if down := ns.Run("ip", "link", "show", "given0"); strings.Contains(down, "LOWER_UP") {
		t.Errorf("somebody is at the other end: %s", down)
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// echo has the guest listen on a port, and exchanges a byte with it from the host.
func (m *machine) echo(protocol string, port int, at string) {
	m.t.Helper()
	ask[wire.Listening](m, wire.OpListen, wire.Listen{Protocol: protocol, Port: port})
	var err error
	m.daemon.NS.Do(func() { err = echoes(protocol, at) })
	if err != nil {
		m.t.Fatalf("reach the guest at %s: %v", at, err)
	}
}

// installUser defines a guest with a user NIC that boots from files that the user can read.
func (c *clients) installUser(replace ...string) *machine {
	c.t.Helper()
	g, err := appliance.Ensure(c.t.Context(), appliance.Options{AgentPath: filepath.Join(c.daemon.Programs(), "taproom-agent")})
	if err != nil {
		c.t.Fatal(err)
	}
	for name, from := range map[string]string{"kernel": g.Kernel, "initrd": g.Initrd} {
		b, err := os.ReadFile(from)
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(name, string(b))
	}
	b, err := os.ReadFile(filepath.Join("testdata", bootGuest))
	if err != nil {
		c.t.Fatal(err)
	}
	doc := strings.NewReplacer("KERNEL", filepath.Join(c.work, "kernel"), "INITRD", filepath.Join(c.work, "initrd"), "CMDLINE", g.Cmdline,
		"<interface type='network'>", "<interface type='user'>", "<source network='lab'/>", "").Replace(c.fill(string(b)))
	c.write(bootGuest, strings.NewReplacer(replace...).Replace(doc))
	c.do("define", bootGuest)
	m := &machine{clients: c, name: "demo", client: c.daemon.Client()}
	m.follow()
	return m
}
