package clienttest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"taproom/internal/engine"
)

// filtered are the rules of filters in the kernel.
func (c *clients) filtered() string {
	c.t.Helper()
	return c.daemon.NS.Run("nft", "list", "ruleset", "bridge")
}

// With virsh alone a NIC gets the filter of its document, another one while it runs, and none; what is changed of a filter,
// flushed by somebody or was there when the daemon was killed is as it should be again.
func TestANICHasTheFilterOfItsDocument(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	nic := func(filter string) string {
		if filter != "" {
			filter = "<filterref filter='" + filter + "'><parameter name='IP' value='192.0.2.7'/></filterref>"
		}
		return "<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br8'/><model type='virtio'/>" + filter + "</interface>"
	}
	bound := func(filter string) {
		t.Helper()
		want := ""
		if filter != "" {
			want = "vnet0 " + filter
		}
		if got := strings.Join(strings.Fields(c.do("nwfilter-binding-list"))[4:], " "); got != want {
			t.Errorf("the bindings are %q, want %q", got, want)
		}
		if has := strings.Contains(c.filtered(), "vnet0"); has != (filter != "") {
			t.Errorf("vnet0 has %q, and in the kernel is\n%s", filter, c.filtered())
		}
	}
	c.write("f.xml", "<filter name='f' chain='root'><filterref filter='clean-traffic'/></filter>")
	c.do("nwfilter-define", "f.xml")
	c.direct("guest", nic("f"))
	c.do("start", "guest", "--paused")
	bound("f")
	c.refused("nwfilter is in use: 'f' is used by NIC vnet0 of domain 'guest'", "nwfilter-undefine", "f")

	c.write("f.xml", "<filter name='f' chain='root'><filterref filter='clean-traffic'/><rule action='drop' direction='in'><tcp dstportstart='2222'/></rule></filter>")
	c.do("nwfilter-define", "f.xml")
	if rules := c.filtered(); !strings.Contains(rules, "2222") && !strings.Contains(c.daemon.NS.Run("nft", "list", "ruleset"), "2222") {
		t.Errorf("the new rule is not in the kernel:\n%s", rules)
	}
	c.write("f.xml", "<filter name='f' chain='root'><filterref filter='f'/></filter>")
	c.refused("f → f", "nwfilter-define", "f.xml")

	for _, filter := range []string{"clean-traffic", "", "f"} {
		c.write("nic.xml", nic(filter))
		c.do("update-device", "guest", "nic.xml", "--live")
		bound(filter)
	}
	c.write("nic.xml", nic("none"))
	c.refused("'none'", "update-device", "guest", "nic.xml", "--live")
	bound("f")

	table := engine.NewIdentity(c.daemon.Root).Table
	c.daemon.NS.Run("nft", "delete", "table", "bridge", table)
	c.comes("vnet0 is filtered again", func() bool { return strings.Contains(c.filtered(), "vnet0") })
	c.daemon.Kill()
	c.daemon.NS.Run("nft", "delete", "table", "bridge", table)
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	bound("f")
	c.do("destroy", "guest")
	bound("")
	c.do("undefine", "guest")
	c.do("nwfilter-undefine", "f")
	c.remove("br8")
}

// Filters for NICs that they cannot have are refused, with what to do.
func TestFiltersThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	for _, r := range []struct{ nic, words string }{
		{"<interface type='bridge'><source bridge='br8'/><filterref filter='none'/></interface>", "no filter of that name"},
		{"<interface type='bridge'><source bridge='br8'/><filterref filter='clean-traffic'><parameter name='CTRL_IP_LEARNING' value='none'/></filterref></interface>", "IP"},
		{"<interface type='bridge'><source bridge='br8'/><filterref filter='clean-traffic'><parameter name='IP' value='300.1.1.1'/></filterref></interface>", "300.1.1.1"},
		{"<interface type='user'><filterref filter='clean-traffic'/></interface>", "has no link on a bridge"},
	} {
		c.direct("guest", r.nic)
		c.refused(r.words, "start", "guest", "--paused")
		c.do("undefine", "guest")
	}
	if rules := c.filtered(); strings.Contains(rules, "vnet") {
		t.Errorf("what was refused left\n%s", rules)
	}
	c.remove("br8")
}

// What becomes of a frame is said without sending one, and what the rules that guests share were met is counted.
func TestFiltersAreExplainedAndCounted(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	c.direct("guest", "<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br8'/><model type='virtio'/><filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.7'/></filterref></interface>")
	c.do("start", "guest", "--paused")
	for _, q := range []struct {
		args, words string
		code        int
	}{
		{"--tcp 192.0.2.7:1024,192.0.2.1:25", "It passes", 0},
		{"--tcp 192.0.2.8:1024,192.0.2.1:25", "of filter no-ip-spoofing", 1},
		{"--tcp 192.0.2.7:1024,192.0.2.1:25 --src-mac 52:54:00:00:00:09", "of filter no-mac-spoofing", 1},
		{"--arp request,192.0.2.7,192.0.2.1", "It passes", 0},
		{"--tcp somewhere", "somewhere", 1},
	} {
		out, code := c.run(c.taproom(append([]string{"filter", "explain", "guest"}, strings.Fields(q.args)...)...))
		if code != q.code || !strings.Contains(out, q.words) {
			t.Errorf("%s: exit %d: %s; want %d and %q", q.args, code, out, q.code, q.words)
		}
	}
	if out, code := c.run(c.taproom("filter", "stats", "guest")); code != 0 || !strings.Contains(out, "no-mac-spoofing") {
		t.Errorf("taproom filter stats: exit %d: %s", code, out)
	}
	c.do("destroy", "guest")
	c.remove("br8")
}

// A guest is pinned to its NIC's own address by the host's setting, unless its document says otherwise.
func TestTheHostPinsNICsToTheirAddresses(t *testing.T) {
	t.Parallel()
	c := serve(t)
	if err := c.daemon.Stop(); err != nil {
		t.Fatal(err)
	}
	c.settings("mac_filter = true\n")
	if err := c.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	c.bridge("br8")
	for name, metadata := range map[string]string{"pinned": "", "free": "<metadata><t:macFilter xmlns:t='urn:taproom:domain:1' mac='52:54:00:00:00:01' pin='no'/></metadata>"} {
		c.write("guest.xml", "<domain type='qemu'><name>guest</name>"+metadata+`<memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br8'/><model type='virtio'/></interface></devices></domain>`)
		c.do("define", "guest.xml")
		c.do("start", "guest", "--paused")
		out, code := c.run(c.taproom("filter", "ls"))
		if has := strings.Contains(out, "its own MAC"); code != 0 || has != (name == "pinned") || has != strings.Contains(c.filtered(), "vnet") {
			t.Errorf("%s: exit %d: %s and in the kernel\n%s", name, code, out, c.filtered())
		}
		c.do("destroy", "guest")
		c.do("undefine", "guest")
	}
	c.remove("br8")
}

// Filters are redefined again and again while guests that have them start, stop and are killed; afterwards all is as after a
// quiet run.
func TestFiltersChangeWhileGuestsComeAndGo(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.bridge("br8")
	var guests []string
	for i := range 3 {
		name := fmt.Sprintf("guest%d", i)
		c.direct(name, fmt.Sprintf("<interface type='bridge'><mac address='52:54:00:00:00:0%d'/><source bridge='br8'/><model type='virtio'/><filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.%d'/></filterref></interface>", i, i+1))
		guests = append(guests, name)
	}
	var coming sync.WaitGroup
	for _, name := range guests {
		coming.Go(func() {
			for range 3 {
				for _, what := range [][]string{{"start", name, "--paused"}, {"destroy", name}} {
					if out, err := c.virsh(what...).CombinedOutput(); err != nil {
						t.Errorf("virsh %v: %v: %s", what, err, out)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		coming.Wait()
		close(done)
	}()
	for port := 1; ; port++ {
		c.write("f.xml", fmt.Sprintf("<filter name='no-mac-broadcast' chain='mac'><rule action='drop' direction='in' priority='%d'><mac srcmacaddr='52:54:00:00:00:99'/></rule></filter>", port%1000))
		c.do("nwfilter-define", "f.xml")
		c.write("g.xml", fmt.Sprintf("<filter name='no-mac-spoofing' chain='mac' priority='-800'><rule action='return' direction='out' priority='%d'><mac srcmacaddr='$MAC'/></rule><rule action='drop' direction='out' priority='1000'><mac/></rule></filter>", port%1000))
		c.do("nwfilter-define", "g.xml")
		select {
		case <-done:
			if got := len(strings.Fields(c.do("nwfilter-binding-list"))); got != 4 || c.filtered() != "" {
				t.Errorf("%d words in the list of bindings, and in the kernel is\n%s", got, c.filtered())
			}
			c.remove("br8")
			return
		default:
		}
	}
}
