package nictest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
)

// A <target dev=> with a %d is a template: each run has the next name of it that no link has, and the definition keeps it.
func TestLinksAreNamedAfterTheirDocumentsTemplates(t *testing.T) {
	t.Parallel()
	d := daemontest.New(t)
	c := d.Client()
	d.NS.Shell("set -e; ip link add nicbr type bridge; ip link add low0 type veth peer name low1; ip link add web1 type bridge")
	tap := func(mac, template string) string {
		return "<interface type='bridge'><mac address='52:54:00:00:31:" + mac + "'/><source bridge='nicbr'/><target dev='" + template + "'/><model type='virtio'/></interface>"
	}
	xml := bare("first", tap("01", "web%d")+tap("02", "web%d")+
		"<interface type='direct'><mac address='52:54:00:00:31:03'/><source dev='low0' mode='bridge'/><target dev='lan%d-x'/><model type='virtio'/></interface>")
	xml = strings.Replace(xml, "<devices>", "<features><acpi/></features><devices>", 1) // or nothing can be plugged in
	dom, err := c.DefineDomain(t.Context(), xml)
	if err != nil {
		t.Fatal(err)
	}
	const paused = 1 // VIR_DOMAIN_START_PAUSED
	if dom, err = c.StartDomain(t.Context(), dom, paused); err != nil {
		t.Fatal(err)
	}
	named(t, d, c, dom, "web0", "web2", "lan0-x")
	const inactive = 2 // VIR_DOMAIN_XML_INACTIVE
	for range 2 {
		if got := targets(t, c, dom, inactive); !slices.Equal(got, []string{"web%d", "web%d", "lan%d-x"}) {
			t.Errorf("the definition names %q", got)
		}
		// A template that the next daemon has not seen yet goes on beside what it gave before.
		d.Kill()
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		c = d.Client()
	}
	attach := remote.DomainStringFlags{Domain: dom, S: tap("04", "web%d"), Flags: 1} // VIR_DOMAIN_AFFECT_LIVE
	if err := c.Call(t.Context(), remote.ProgramRemote, remote.ProcDomainAttachDeviceFlags, &attach, &xdr.Void{}); err != nil {
		t.Fatal(err)
	}
	named(t, d, c, dom, "web0", "web2", "lan0-x", "web3")
	if err := c.DestroyDomain(t.Context(), dom); err != nil {
		t.Fatal(err)
	}
	if err := c.UndefineDomain(t.Context(), dom, 0); err != nil {
		t.Fatal(err)
	}
	d.NS.Shell("set -e; ip link del nicbr; ip link del low0; ip link del web1")
	if left := d.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// named holds that a guest's document says that its NICs' links have these names, and that there are such links.
func named(t *testing.T, d *daemontest.Daemon, c *client.Client, dom remote.Domain, want ...string) {
	t.Helper()
	if got := targets(t, c, dom, 0); !slices.Equal(got, want) {
		t.Errorf("the links are %q, want %q", got, want)
	}
	for _, name := range want {
		if _, err := d.NS.Kernel().LinkByName(name); err != nil {
			t.Error(err)
		}
	}
}

// targets are the names in a guest's document.
func targets(t *testing.T, c *client.Client, dom remote.Domain, flags uint32) []string {
	t.Helper()
	xml, err := c.DomainXML(t.Context(), dom, flags)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("<target dev='([^']*)'/>").FindAllStringSubmatch(xml, -1) {
		out = append(out, m[1])
	}
	return out
}
