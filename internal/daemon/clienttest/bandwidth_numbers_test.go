package clienttest

import (
	"strings"
	"testing"
)

// Numbers that no limit can have are refused where they are said, by the name of what is wrong: in a definition, for a NIC that is plugged
// in, and by domiftune. Nothing changes then.
func TestBandwidth_NumbersOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.do("net-define", c.write("lab.xml", boundNet))
	c.do("net-start", "lab")
	c.do("net-define", c.write("none.xml", "<network><name>none</name><bridge name='virbr9'/></network>"))
	c.do("net-start", "none")
	c.guest("g", boundNIC(1, "", "<bandwidth><inbound average='1024' floor='8000'/></bandwidth>"))
	c.do("start", "g", "--paused")
	before := c.do("dumpxml", "g", "--xpath", "//interface") + c.do("dumpxml", "g", "--inactive", "--xpath", "//interface") + c.bounds("virbr8")
	refused := func(want string, args ...string) {
		t.Helper()
		if out, code := c.run(c.virsh(args...)); code == 0 || !strings.Contains(out, want) {
			t.Errorf("virsh %q: exit %d: %s, want %q", args, code, out, want)
		}
	}
	for bounds, want := range map[string]string{
		"<inbound average='4294967296'/>":              "inbound/@average: 4294967296",
		"<inbound average='-1'/>":                      "inbound/@average: ",
		"<outbound average='1' peak='4294967296'/>":    "outbound/@peak: 4294967296",
		"<outbound average='1' burst='-7'/>":           "outbound/@burst: ",
		"<outbound average='9' burst='4294967295'/>":   "outbound/@burst: at 9 KiB/s it lasts longer than 274 s; 2466 KiB is the most",
		"<inbound burst='512'/>":                       "inbound/@average: it is missing, and peak and burst need it",
		"<outbound peak='512'/>":                       "outbound/@average: it is missing, and peak and burst need it",
		"<inbound average='1' floor='4294967296'/>":    "inbound/@floor",
		"<inbound average='1' floor='-1'/>":            "inbound/@floor",
		"<outbound average='1' floor='1'/>":            "outbound/@floor is not supported",
		"<inbound average='18446744073709551616'/>":    "inbound/@average: 18446744073709551616",
		"<inbound average='1.5'/>":                     "inbound/@average: ",
		"<inbound average='1'/><outbound average=''/>": "outbound/@average: it is missing",
	} {
		bounds = "<bandwidth>" + bounds + "</bandwidth>"
		refused("devices/interface/bandwidth/"+want, "define", c.write("bad.xml", strings.NewReplacer("%[1]s", "bad", "%[2]s", boundNIC(2, "", bounds)).Replace(boundGuest)))
		for _, how := range []string{"--live", "--config"} {
			refused("bandwidth/"+want, "attach-device", "g", c.write("nic.xml", boundNIC(2, "", bounds)), how)
		}
		refused("bandwidth/"+want, "update-device", "g", c.write("nic.xml", boundNIC(1, "", bounds)), "--live")
		if !strings.Contains(bounds, "floor") { // which no network has
			refused("bandwidth/"+want, "net-define", c.write("badnet.xml", "<network><name>bad</name><bridge name='virbr7'/><ip address='10.0.0.1'/>"+bounds+"</network>"))
		}
	}
	for rates, want := range map[string]string{ // a floor of 2^32 does not arrive: virsh 9 takes its lower 32 bits
		"4294967296":     "4294967295",
		"1,4294967296":   "4294967295",
		"0,0,512":        "mandatory",
		"-1":             "",
		"9,9,4294967295": "lasts longer than 274 s; 2466 KiB is the most",
	} {
		refused(want, "domiftune", "g", "vnet0", "--inbound", rates, "--live")
		refused(want, "domiftune", "g", "vnet0", "--outbound", rates, "--config")
	}
	// A floor is a part of what its network has.
	floor := func(network, kib string) string {
		return c.write("floor.xml", strings.Replace(boundNIC(3, "", "<bandwidth><inbound floor='"+kib+"'/></bandwidth>"), "'lab'", "'"+network+"'", 1))
	}
	refused("network 'none' has no inbound bandwidth that a floor could be a part of", "attach-device", "g", floor("none", "1"), "--live")
	refused("would overcommit 'inbound.average' of network 'lab': it has 8192, and floors of other NICs are 8000", "attach-device", "g", floor("lab", "193"), "--live")
	refused("would overcommit 'inbound.average' of network 'lab': it has 8192", "domiftune", "g", "vnet0", "--inbound", "0,0,0,4294967295", "--live")
	if now := c.do("dumpxml", "g", "--xpath", "//interface") + c.do("dumpxml", "g", "--inactive", "--xpath", "//interface") + c.bounds("virbr8"); now != before {
		t.Errorf("after all that was refused there is\n%s\nand there was\n%s", now, before)
	}
	c.do("destroy", "g")
	for _, n := range []string{"lab", "none"} {
		c.do("net-destroy", n)
	}
}
