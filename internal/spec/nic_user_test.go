package spec

import (
	"strings"
	"testing"
)

// userNIC is a document with one interface.
func userNIC(attrs, inside string) []byte {
	return []byte("<domain type='qemu'><name>a</name><memory>1024</memory><os><type>hvm</type></os><devices><interface " + attrs + ">" + inside + "</interface></devices></domain>")
}

func TestUserNetworksAreRefusedWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	const user, passt = "type='user'", "<backend type='passt'/>"
	for _, c := range []struct{ attrs, inside, want string }{
		{user, "<ip address='172.17.2.0'/><ip family='ipv6' address='fd00::1' prefix='64'/>", ""},
		{user, "<portForward proto='tcp'><range start='22' end='25' to='2022'/></portForward>", ""},
		{user, passt + "<portForward proto='udp' dev='eth0'/><source dev='eth0'/>", ""},
		{"type='network'", "<source network='n'/><ip address='172.17.2.0'/>", "it is for type='user'; elsewhere the network's DHCP gives addresses"},
		{"type='network'", "<source network='n'/><portForward proto='tcp'/>", "it is for type='user'"},
		{"type='network'", "<source network='n'/>" + passt, "passt is for type='user'"},
		{user, "<backend logFile='/x'/>", "it is for type='passt'"},
		{user, "<backend type='passt' logFile='x'/>", `"x" is not an absolute path`},
		{user, "<source dev='eth0'/>", "add <backend type='passt'/> to choose a link"},
		{user, "<ip address='172.17.2.0'/><ip address='172.17.3.0'/>", "a user network has one address of each family"},
		{user, "<ip address='fd00::1'/>", ""},
		{user, "<ip family='ipv4' address='fd00::1'/>", `fd00::1 is not of family "ipv4"`},
		{user, "<ip family='ipv6' address='10.0.0.1'/>", `10.0.0.1 is not of family "ipv6"`},
		{user, "<ip address='10.0.0.300'/>", "10.0.0.300"},
		{user, "<ip address='10.0.0.1' prefix='28'/>", "28 is none between 4 and 27"},
		{user, "<ip address='10.0.0.1' prefix='3'/>", "3 is none between 4 and 27"},
		{user, "<ip family='ipv6' address='fd00::1' prefix='121'/>", "121 is none between 1 and 120"},
		{user, "<ip address='10.0.0.1' peer='10.0.0.2'/>", "a user network has no peer"},
		{user, "<portForward><range start='1'/></portForward>", "use tcp or udp"},
		{user, "<portForward proto='icmp'><range start='1'/></portForward>", `"icmp"`},
		{user, "<portForward proto='tcp'/>", "QEMU's own user network forwards single ports"},
		{user, "<portForward proto='tcp' dev='eth0'><range start='1'/></portForward>", "forwards by address"},
		{user, "<portForward proto='tcp' address='::1'><range start='1'/></portForward>", "forwards IPv4 only"},
		{user, "<portForward proto='tcp' address='x'><range start='1'/></portForward>", "x"},
		{user, "<portForward proto='tcp'><range end='1'/></portForward>", "it is missing"},
		{user, "<portForward proto='tcp'><range start='0'/></portForward>", "0 is too small"},
		{user, "<portForward proto='tcp'><range start='5' end='4'/></portForward>", "4 comes before 5"},
		{user, "<portForward proto='tcp'><range start='5' end='9' to='65532'/></portForward>", "port 65536 of the guest does not exist"},
		{user, "<portForward proto='tcp'><range start='5' to='6' exclude='yes'/></portForward>", "a range that is excluded goes nowhere"},
		{"type='ethernet'", "<target dev='tap0' managed='no'/>", ""},
		{"type='ethernet'", "<target dev='tap0'/>", ""},
		{"type='ethernet'", "", ""},
		{"type='ethernet'", "<script path='/x'/>", "no program of a document's is run as root"},
		{"type='ethernet'", "<source><ip address='10.0.0.1' prefix='24'/></source>", "the host's end gets no address"},
		{"type='bridge'", "<source bridge='b'/><target dev='tap0' managed='no'/>", "is used with type='ethernet'"},
		{"type='ethernet'", "<target managed='no'/>", "it is missing: the tap that is there already"},
	} {
		d, err := ParseDomain(userNIC(c.attrs, c.inside))
		if err == nil {
			err = d.Validate()
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s %s: %v", c.attrs, c.inside, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %s: %v, want %q", c.attrs, c.inside, err, c.want)
		}
	}
}
