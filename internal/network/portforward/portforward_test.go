package portforward_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/network/portforward"
	"taproom/internal/spec"
)

func network(t *testing.T, name, forwards string) *spec.Network {
	t.Helper()
	n, err := spec.ParseNetwork([]byte(`<network><name>` + name + `</name><uuid>11111111-2222-4333-8444-555555555501</uuid>
		<metadata><t:forwards xmlns:t='urn:taproom:network:1'>` + forwards + `</t:forwards></metadata><forward mode='nat'/><bridge name='virbr0'/>
		<ip address='192.168.122.1' netmask='255.255.255.0'><dhcp><host mac='52:54:00:00:00:01' name='fixed' ip='192.168.122.9'/></dhcp></ip>
		<ip family='ipv6' address='fd00::1' prefix='64'/></network>`))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Validate(); err != nil {
		t.Fatal(err)
	}
	return n
}

func compiled(t *testing.T, n *spec.Network, known map[string]portforward.Guest) string {
	t.Helper()
	s, err := portforward.Compile(n, known)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for e := range s.Elements {
		lines = append(lines, e.Set+" "+e.Key)
	}
	slices.Sort(lines)
	for _, key := range slices.Sorted(maps.Keys(s.Services)) {
		_, config, _ := strings.Cut(s.Services[key].Config, `"forwards":`)
		lines = append(lines, strings.TrimSuffix(config, "}"))
	}
	return strings.Join(lines, "\n")
}

func TestForwardsAreElementsAndPortsOfTheLoopback(t *testing.T) {
	t.Parallel()
	n := network(t, "a", "<forward port='80' end='81' to='web' toPort='8080'/><forward protocol='udp' address='192.0.2.1' port='53' to='192.168.122.10'/><forward address='::1' port='22' to='fd00::5'/>")
	const static = `hairpin24 virbr0 . 192.168.122.0
targets virbr0 . 192.168.122.10 . udp . 53
[{"protocol":"tcp","listen":"[::1]:22","to":"[fd00::5]:22"}]`
	if d := cmp.Diff("forwards 192.0.2.1 . udp . 53 : 192.168.122.10 . 53\n"+static, compiled(t, n, nil)); d != "" {
		t.Errorf("nothing known of web (-want +got):\n%s", d)
	}
	web := map[string]portforward.Guest{"web": {Four: netip.MustParseAddr("192.168.122.77")}}
	const both = `forwards 192.0.2.1 . udp . 53 : 192.168.122.10 . 53
forwards_any tcp . 80 : 192.168.122.77 . 8080
forwards_any tcp . 81 : 192.168.122.77 . 8081
hairpin24 virbr0 . 192.168.122.0
targets virbr0 . 192.168.122.10 . udp . 53
targets virbr0 . 192.168.122.77 . tcp . 8080
targets virbr0 . 192.168.122.77 . tcp . 8081
[{"protocol":"tcp","listen":"127.0.0.1:80","to":"192.168.122.77:8080"},{"protocol":"tcp","listen":"127.0.0.1:81","to":"192.168.122.77:8081"},{"protocol":"tcp","listen":"[::1]:22","to":"[fd00::5]:22"}]`
	if d := cmp.Diff(both, compiled(t, n, web)); d != "" {
		t.Errorf("web has an address (-want +got):\n%s", d)
	}
}

func TestAForwardSaysWhyItLeadsNowhere(t *testing.T) {
	t.Parallel()
	n := network(t, "a", "<forward port='80' to='web'/><forward address='2001:db8::1' port='81' to='web'/><forward port='82' to='gone'/>")
	known := map[string]portforward.Guest{"web": {Four: netip.MustParseAddr("192.168.122.77"), Six: netip.MustParseAddr("fd99::1")}, "gone": {Why: "it is off"}}
	all, err := portforward.Look(n, known)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		got = append(got, fmt.Sprint(f.Live, f.Why))
	}
	want := []string{"[192.168.122.77]", "[]the guest has no address of that family in the network's <ip>", "[]it is off"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if g, ok := portforward.Static(n, "fixed"); !ok || g.Four != netip.MustParseAddr("192.168.122.9") {
		t.Errorf("the document's own host is %+v", g)
	}
}

func TestPortsThatAreTakenAreFound(t *testing.T) {
	t.Parallel()
	n := network(t, "a", "<forward port='80' to='web'/><forward address='192.0.2.1' port='81' to='web'/><forward address='127.0.0.1' port='82' to='web'/>")
	all, err := n.PortForwards()
	if err != nil {
		t.Fatal(err)
	}
	for at, taken := range map[string]bool{
		"0.0.0.0:80": true, "[::]:80": true, "10.0.0.1:80": true, "0.0.0.0:81": false, "192.0.2.1:81": true, "192.0.2.2:81": false,
		"0.0.0.0:82": true, "127.0.0.1:82": true, "0.0.0.0:83": false,
	} {
		f, _ := portforward.Taken(n, all, []portforward.Socket{{Protocol: "tcp", At: netip.MustParseAddrPort(at)}})
		if (f != nil) != taken {
			t.Errorf("%s is in the way of %v, want %v", at, f, taken)
		}
	}
	if f, _ := portforward.Taken(n, portforward.New(all, all[:1]), []portforward.Socket{{Protocol: "tcp", At: netip.MustParseAddrPort("0.0.0.0:80")}}); f != nil {
		t.Errorf("what the network has already is in its own way: %v", f)
	}
	if err := portforward.Clash(n, network(t, "b", "<forward port='81' to='x'/>")); !errors.Is(err, portforward.ErrClash) || !strings.Contains(err.Error(), "network 'b' has tcp 81 lead to 'x'") {
		t.Errorf("clash: %v", err)
	}
	if err := portforward.Clash(n, network(t, "b", "<forward port='90' to='x'/>")); err != nil {
		t.Errorf("no clash: %v", err)
	}
}
