package spec

import (
	"strings"
	"testing"
)

// A socket's ends are addresses of IPv4, each where its type has one.
func TestWhereASocketLeadsIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, source, want string }{
		{"server", "<source port='5558'/>", ""},
		{"server", "<source address='0.0.0.0' port='65535'/>", ""},
		{"client", "<source address='192.0.2.1' port='5558'/>", ""},
		{"mcast", "<source address='230.0.0.1' port='5558'/>", ""},
		{"udp", "<source address='192.0.2.1' port='1'><local address='192.0.2.2' port='2'/></source>", ""},
		{"bridge", "<source bridge='b' address='?'/>", ""}, // kept, as libvirt does
		{"server", "", "source/@port: it is missing"},
		{"client", "<source address='192.0.2.1'/>", "source/@port: it is missing"},
		{"client", "<source port='5558'/>", "source/@address: it is missing"},
		{"client", "<source address='192.0.2.1' port='0'/>", "0 is too small"},
		{"client", "<source address='192.0.2.1' port='65536'/>", "65536 is too large"},
		{"client", "<source address='somewhere' port='5558'/>", `"somewhere" is no address, and QEMU looks up no names`},
		{"server", "<source address='::1' port='5558'/>", "::1: QEMU's sockets between guests are for IPv4"},
		{"mcast", "<source address='192.0.2.1' port='5558'/>", "has the address of a group"},
		{"client", "<source address='230.0.0.1' port='5558'/>", "the others have that of a machine"},
		{"udp", "<source address='192.0.2.1' port='1'/>", "local/@port: it is missing: a tunnel has two ends"},
		{"udp", "<source address='192.0.2.1' port='1'><local port='2'/></source>", "local/@address: it is missing"},
		{"udp", "<source address='192.0.2.1' port='1'><local address='192.0.2.1' port='x'/></source>", "local/@port"},
	} {
		d, err := ParseDomain(userNIC("type='"+c.kind+"'", c.source))
		if err == nil {
			err = d.Validate()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.kind, c.source, err, c.want)
		}
	}
}
