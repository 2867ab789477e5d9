package clienttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// bounds is what tc shows of a link: its queue and classes, and the link that what comes in goes through.
func (c *clients) bounds(link string) string {
	c.t.Helper()
	out, err := c.daemon.NS.Try("sh", "-c", "tc qdisc show dev "+link+" root; tc class show dev "+link+"; tc filter show dev "+link+"; tc filter show dev "+link+" ingress")
	if err != nil {
		return ""
	}
	return out
}

// bounded waits until a link is bounded so: each part is in what tc shows, but for those that begin with an exclamation mark.
func (c *clients) bounded(link string, parts ...string) {
	c.t.Helper()
	c.comes(fmt.Sprintf("%s is bounded as %q", link, parts), func() bool {
		shown := c.bounds(link)
		for _, p := range parts {
			without, not := strings.CutPrefix(p, "!")
			if strings.Contains(shown, without) == not {
				return false
			}
		}
		return true
	})
}

// shapers are the links that what guests and networks send goes through.
func (c *clients) shapers() []string {
	c.t.Helper()
	var names []string
	for line := range strings.Lines(c.daemon.NS.Run("ip", "-o", "link", "show", "type", "ifb")) {
		names = append(names, strings.TrimSuffix(strings.Fields(line)[1], ":"))
	}
	slices.Sort(names)
	return names
}

// through is the link that what comes in through a link goes through.
func (c *clients) through(link string) string {
	c.t.Helper()
	_, after, ok := strings.Cut(c.bounds(link), "Egress Redirect to device ")
	name, _, _ := strings.Cut(after, ")")
	if !ok {
		c.t.Fatalf("what comes in through %s goes through nothing:\n%s", link, c.bounds(link))
	}
	return name
}

const (
	boundNet = `<network><name>lab</name><bridge name='virbr8'/><ip address='192.168.80.1' netmask='255.255.255.0'/>
<bandwidth><inbound average='8192'/><outbound average='4096'/></bandwidth>
<portgroup name='slow'><bandwidth><inbound average='512'/></bandwidth></portgroup></network>`
	boundGuest = `<domain type='qemu'><name>%[1]s</name><memory unit='MiB'>16</memory><os><type machine='q35'>hvm</type></os><devices>%[2]s<memballoon model='none'/></devices></domain>`
	// What tc makes of 1,024, 2,048, 4,096 and 8,192 KiB/s, with the headers of Ethernet.
	rate1024, rate2048, rate4096, rate8192 = "rate 8770Kbit ", "rate 17541Kbit ", "rate 35083Kbit ", "rate 70167Kbit "
)

func boundNIC(n int, attrs, more string) string {
	return fmt.Sprintf("<interface type='network'><mac address='52:54:00:00:00:0%d'/><source network='lab'%s/><model type='virtio'/>%s</interface>", n, attrs, more)
}

// guest defines a guest that stands still.
func (c *clients) guest(name string, nics ...string) {
	c.t.Helper()
	c.write(name+".xml", strings.NewReplacer("%[1]s", name, "%[2]s", strings.Join(nics, "")).Replace(boundGuest))
	c.do("define", name+".xml")
}

func TestNICsAndNetworksAreBoundedAndStaySo(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("lab.xml", boundNet)
	c.do("net-define", "lab.xml")
	c.do("net-start", "lab")
	c.bounded("virbr8", "htb 7a71:", "class htb 7a71:1 root "+rate8192, "class htb 7a71:2 parent 7a71:1", "Egress Redirect to device bw-")
	c.guest("g", boundNIC(1, "", "<bandwidth><inbound average='1024' floor='100'/><outbound average='2048'/></bandwidth>"), boundNIC(2, " portgroup='slow'", ""), boundNIC(3, "", ""))
	c.do("start", "g", "--paused")
	as := func() {
		t.Helper()
		c.bounded("vnet0", "tbf 7a70: root", rate1024, "Egress Redirect to device bw-")
		c.bounded("vnet1", "tbf 7a70: root", "rate 4385Kbit ", "!mirred")
		c.bounded("vnet2", "noqueue", "!mirred")
		c.bounded("virbr8", rate8192, "class htb 7a71:10 parent 7a71:1 ", "match 00000001/ffffffff", "!7a71:11 ", "Egress Redirect to device bw-")
		c.comes("what is sent goes through two links", func() bool { return len(c.shapers()) == 2 })
	}
	as()
	c.shows(c.do("dumpxml", "g"), "<inbound average='1024' floor='100'/>", "<outbound average='2048'/>", "<inbound average='512'/>")
	if def := c.do("dumpxml", "g", "--inactive"); strings.Contains(def, "average='512'") {
		t.Errorf("the definition has what the network gives:\n%s", def)
	}
	c.shows(c.do("domiftune", "g", "vnet0"), "inbound.average: 1024", "inbound.floor  : 100", "outbound.average: 2048", "outbound.burst : 0")
	c.shows(c.do("domiftune", "g", "vnet1"), "inbound.average: 512")

	// What somebody takes off is put back, and a daemon that was killed meanwhile does it when it is back.
	flushed := func(commands ...string) {
		t.Helper()
		for _, s := range commands { // of one thing three within a minute are put back
			c.daemon.NS.Shell(s)
			as()
			c.comes("nothing is left to do after "+s, c.planned)
		}
	}
	flushed("tc qdisc delete dev vnet0 root", "tc filter delete dev vnet0 ingress", "ip link delete "+c.through("vnet0"), "tc qdisc replace dev vnet1 root noqueue",
		"tc qdisc delete dev virbr8 root", "tc filter delete dev virbr8 parent 7a71: pref 16", "ip link delete "+c.through("virbr8"))
	c.daemon.Kill()
	c.daemon.NS.Shell("tc qdisc delete dev vnet0 root; tc qdisc delete dev virbr8 clsact; for i in $(ip -o link show type ifb | cut -d: -f2); do ip link delete $i; done")
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	as()
	c.comes("nothing is left to do", c.planned)
	flushed("ip link set "+c.through("vnet0")+" down", "tc qdisc delete dev "+c.through("vnet0")+" root", "tc qdisc delete dev vnet0 clsact")

	c.do("destroy", "g")
	c.bounded("virbr8", "!7a71:10 ")
	if names := c.shapers(); len(names) != 1 {
		t.Errorf("a guest that has ended leaves %v", names)
	}
	c.do("net-destroy", "lab")
	if names := c.shapers(); len(names) != 0 {
		t.Errorf("a network that was stopped leaves %v", names)
	}
}

// planned reports whether nothing differs from what it should be.
func (c *clients) planned() bool {
	out, code := c.run(c.taproom("plan"))
	return code == 0 && !strings.Contains(out, "tc ") && !strings.Contains(out, "ip link")
}

// Bounds change while a guest runs, one direction at a time; what the other keeps waiting is left alone, and the document says so.
func TestBoundsChangeWhileAGuestRuns(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("lab.xml", boundNet)
	c.do("net-define", "lab.xml")
	c.do("net-start", "lab")
	c.guest("g", boundNIC(1, "", ""), boundNIC(2, " portgroup='slow'", ""))
	c.do("start", "g", "--paused")
	c.bounded("vnet0", "noqueue")
	c.do("domiftune", "g", "vnet0", "--outbound", "2048", "--live", "--config")
	c.bounded("vnet0", "noqueue", "Egress Redirect to device bw-")
	through := c.shapers()
	c.do("domiftune", "g", "52:54:00:00:00:01", "--inbound", "1024,2048,512,300", "--live")
	c.bounded("vnet0", rate1024, "peakrate 17541Kbit", "Egress Redirect to device bw-")
	c.bounded("virbr8", "class htb 7a71:10 ")
	c.shows(c.do("dumpxml", "g"), "<inbound average='1024' peak='2048' burst='512' floor='300'/>", "<outbound average='2048'/>")
	c.shows(c.do("domiftune", "g", "vnet0", "--live"), "inbound.peak   : 2048", "inbound.floor  : 300", "outbound.average: 2048")
	c.shows(c.do("domiftune", "g", "52:54:00:00:00:01", "--config"), "inbound.average: 0", "outbound.average: 2048")

	c.write("nic.xml", boundNIC(1, "", "<bandwidth><inbound average='4096'/><outbound average='2048'/></bandwidth>"))
	c.do("update-device", "g", "nic.xml", "--live")
	c.bounded("vnet0", rate4096, "Egress Redirect")
	c.bounded("virbr8", "!class htb 7a71:10 ")
	if now := c.shapers(); !slices.Equal(now, through) || len(now) != 2 {
		t.Errorf("what is sent went through %v, and goes through %v", through, now)
	}
	c.do("domiftune", "g", "vnet0", "--inbound", "0", "--outbound", "0", "--live")
	c.bounded("vnet0", "!tbf", "!mirred")

	// A port group's NICs follow it, unless they have bounds of their own.
	c.bounded("vnet1", "rate 4385Kbit ")
	c.do("net-update", "lab", "modify", "portgroup", "<portgroup name='slow'><bandwidth><inbound average='1024'/></bandwidth></portgroup>", "--live")
	c.bounded("vnet1", rate1024)
	c.shows(c.do("dumpxml", "g"), "<inbound average='1024'/>")
	c.do("domiftune", "g", "vnet1", "--inbound", "2048", "--live")
	c.bounded("vnet1", rate2048)
	c.do("net-update", "lab", "modify", "portgroup", "<portgroup name='slow'><bandwidth><inbound average='4096'/></bandwidth></portgroup>", "--live")
	c.bounded("vnet1", rate2048)

	c.do("attach-interface", "g", "network", "lab", "--model", "virtio", "--mac", "52:54:00:00:00:03", "--inbound", "1024", "--outbound", "4096", "--live")
	c.bounded("vnet2", rate1024, "Egress Redirect to device bw-")
	id := ""
	for _, port := range strings.Fields(c.do("net-port-list", "lab"))[2:] {
		if strings.Contains(c.do("net-port-dumpxml", "lab", port), "52:54:00:00:00:03") {
			id = port
		}
	}
	if out, code := c.run(c.command("/usr/bin/python3", "-c", `import libvirt, sys
port = libvirt.open().networkLookupByName('lab').portLookupByUUIDString(sys.argv[1])
print(sorted(port.parameters().items()))
port.setParameters({'inbound.average': 4096, 'inbound.floor': 64})
print(port.parameters()['inbound.floor'])`, id)); code != 0 || !strings.Contains(out, "('outbound.average', 4096)") || !strings.HasSuffix(out, "64\n") {
		t.Errorf("the port's parameters: exit %d: %s", code, out)
	}
	c.bounded("vnet2", rate4096)
	c.bounded("virbr8", "class htb 7a71:10 ")
	c.comes("nothing is left to do", c.planned)
	c.do("destroy", "g")
	c.do("net-destroy", "lab")
}

func TestWhatCannotBeGuaranteedIsRefused(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("lab.xml", boundNet)
	c.do("net-define", "lab.xml")
	c.do("net-start", "lab")
	c.write("none.xml", "<network><name>none</name><bridge name='virbr9'/></network>")
	c.do("net-define", "none.xml")
	c.do("net-start", "none")
	floor := func(kib string) string { return "<bandwidth><inbound floor='" + kib + "'/></bandwidth>" }
	c.guest("one", boundNIC(1, "", floor("5000")))
	c.guest("two", boundNIC(2, "", floor("4000")))
	c.guest("three", strings.Replace(boundNIC(3, "", floor("1")), "'lab'", "'none'", 1))
	c.do("start", "one", "--paused")
	for command, want := range map[string]string{
		"start two":   "would overcommit 'inbound.average' of network 'lab': it has 8192, and floors of other NICs are 5000",
		"start three": "network 'none' has no inbound bandwidth that a floor could be a part of",
		"domiftune one vnet0 --inbound 0,0,0,8193 --live": "would overcommit",
		"domiftune one vnet0 --inbound 4294967296 --live": "",
		"domiftune one vnet0 --inbound 1,1,275 --live":    "lasts longer than 274 s",
		"domiftune one vnet7 --inbound 1 --live":          "cannot find interface 'vnet7'",
	} {
		out, code := c.run(c.virsh(strings.Fields(command)...))
		if code == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d: %s", command, code, out)
		}
	}
	c.bounded("virbr8", "class htb 7a71:10 parent 7a71:1 ", "rate 42826Kbit", "!7a71:11 ")
	c.shows(c.do("dumpxml", "one"), "<inbound floor='5000'/>")
	c.do("domiftune", "one", "vnet0", "--inbound", "2048,1024", "--live") // libvirt takes it, and its peak is what holds
	c.bounded("vnet0", rate1024)
	c.shows(c.do("domiftune", "one", "vnet0"), "inbound.average: 2048", "inbound.peak   : 1024")
	c.do("domiftune", "one", "vnet0", "--inbound", "0,0,0,4192", "--live")
	c.do("start", "two", "--paused") // exactly what is there
	c.bounded("virbr8", "class htb 7a71:10 ", "class htb 7a71:11 ")
	c.do("destroy", "one")
	c.bounded("virbr8", "!7a71:10 ", "class htb 7a71:11 ")
	c.do("destroy", "two")
	c.do("net-destroy", "lab")
	c.do("net-destroy", "none")
}
