package resolvconf

import (
	"fmt"
	"strings"
	"testing"
)

func TestServersAreReadInOrderAndTheRestIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "[]"},
		"systemd's stub":  {"# by systemd-resolved\nnameserver 127.0.0.53\noptions edns0 trust-ad\nsearch lan\n", "[127.0.0.53:53]"},
		"two families":    {"nameserver 192.0.2.1\nnameserver 2001:db8::1\n", "[192.0.2.1:53 [2001:db8::1]:53]"},
		"a link's":        {"nameserver fe80::1%eth0\n", "[[fe80::1%eth0]:53]"},
		"tabs, no end":    {"nameserver\t 192.0.2.1  # office", "[192.0.2.1:53]"},
		"comments":        {";nameserver 192.0.2.1\n# nameserver 192.0.2.2\n#nameserver 192.0.2.3\n", "[]"},
		"not addresses":   {"nameserver dns.example\nnameserver\nnameserver 300.0.0.1\nnameserver 224.0.0.1\n", "[]"},
		"said twice":      {"nameserver 192.0.2.1\nnameserver ::ffff:192.0.2.1\n", "[192.0.2.1:53]"},
		"this host":       {"nameserver 0.0.0.0\nnameserver ::\n", "[127.0.0.1:53 [::1]:53]"},
		"another case":    {"NameServer 192.0.2.1\n", "[]"},
		"DOS line ends":   {"nameserver 192.0.2.1\r\nnameserver 192.0.2.2\r\n", "[192.0.2.1:53 192.0.2.2:53]"},
		"options ignored": {"options ndots:5 timeout:1\nsortlist 10.0.0.0\nnameserver 192.0.2.9\n", "[192.0.2.9:53]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(Parse([]byte(c.text))); got != c.want {
				t.Errorf("servers of %q:\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestAFileWithManyServersGivesFew(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "nameserver 192.0.2.%d\n", i)
	}
	if got := Parse([]byte(b.String())); len(got) != maxServers || got[0].String() != "192.0.2.0:53" {
		t.Errorf("%d servers, the first %v", len(got), got[0])
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("nameserver 192.0.2.1\nnameserver fe80::1%eth0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range Parse(text) {
			if !s.IsValid() || s.Port() != 53 || s.Addr().IsUnspecified() || s.Addr().IsMulticast() {
				t.Errorf("nobody can be asked at %v", s)
			}
		}
	})
}
