package vnet

import (
	"context"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
	"taproom/internal/network/state"
	"taproom/internal/spec"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

var update = flag.Bool("update", false, "rewrite the plans in testdata")

// printer is a firewall that only writes.
type printer struct{ state.FirewallBackend }

func (printer) Render(add, _ []state.Element) []string {
	var out []string
	for _, e := range add {
		out = append(out, "add "+e.Set+" { "+e.Key+" }")
	}
	return out
}

func TestCompile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/compile/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Compile(parse(t, string(a.Files[0].Data)))
			if err != nil {
				t.Fatal(err)
			}
			env := &state.Env{Group: 0x7461, Firewall: printer{}, Services: noServices{}}
			p, err := state.Diff(env, state.Observed{}, s)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				a.Files[1].Data = []byte(p.String())
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(a.Files[1].Data), p.String()); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
		})
	}
}

// noServices is there, so that its steps are planned.
type noServices struct{ state.ServiceBackend }

func parse(t *testing.T, xml string) *spec.Network {
	t.Helper()
	n, err := spec.ParseNetwork([]byte(xml))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// document is a NAT network with parts of it replaced.
func document(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`<network><name>n</name><uuid>9a05da11-e96b-47f3-8253-a3a482e445f5</uuid>
		<forward mode='nat'></forward><bridge name='virbr0'/><mac address='52:54:00:00:00:01'/><mtu size='1500'/>
		<ip address='10.0.0.1' prefix='24'><dhcp><range start='10.0.0.2' end='10.0.0.9'/></dhcp></ip></network>`)
}

// options ends a document with lines for dnsmasq.
func options(lines ...string) string {
	s := "<dnsmasq:options xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>"
	for _, l := range lines {
		s += "<dnsmasq:option value='" + l + "'/>"
	}
	return s + "</dnsmasq:options></network>"
}

func TestWhatCannotBeIsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{"mode='nat'", "mode='hostdev'", "forward/@mode is not supported"},
		{"<uuid>9a05da11-e96b-47f3-8253-a3a482e445f5</uuid>", "", "invalid uuid"},
		{"name='virbr0'", "", "invalid bridge/@name"},
		{"name='virbr0'", "name='sixteen-bytes-xx'", "invalid bridge/@name"},
		{"name='virbr0'", "name='a/b'", "invalid bridge/@name"},
		{"name='virbr0'", "name='..'", "invalid bridge/@name"},
		{"name='virbr0'", "name='v' delay='x'", "invalid bridge/@delay"},
		{"name='virbr0'", "name='v' delay='NaN'", "invalid bridge/@delay"},
		{"52:54:00:00:00:01", "52:54", "invalid mac/@address"},
		{"size='1500'", "size='9'", "invalid mtu/@size"},
		{"prefix='24'", "prefix='33'", "invalid ip[1]"},
		{"prefix='24'", "prefix='0'", "invalid ip[1]"},
		{"address='10.0.0.1' prefix='24'", "address='fd00::1' prefix='64'", "ip[1]/@family is not supported"},
		{"start='10.0.0.2'", "start='10.0.1.2'", "invalid ip[1]/dhcp/range[1]: start 10.0.1.2 is after"},
		{"end='10.0.0.9'", "end='10.0.1.9'", "invalid dhcp4.ranges[0]"},
		{"</dhcp>", "<host mac='x' ip='10.0.0.5'/></dhcp>", "invalid ip[1]/dhcp/host[1]/@mac"},
		{"</dhcp>", "<host name='x' ip='nope'/></dhcp>", "invalid ip[1]/dhcp/host[1]/@ip"},
		{"</dhcp>", "<host id='0:g' ip='10.0.0.5'/></dhcp>", "invalid ip[1]/dhcp/host[1]/@id"},
		{"</dhcp>", "<host name='x' ip='fd00::5'/></dhcp>", "invalid ip[1]/dhcp/host[1]/@ip"},
		{"</dhcp>", "<host name='x' ip='10.0.0.5'><lease expiry='x'/></host></dhcp>", "invalid ip[1]/dhcp/host[1]/lease"},
		{"end='10.0.0.9'/>", "end='10.0.0.9'><lease expiry='1' unit='days'/></range>", "invalid ip[1]/dhcp/range[1]/lease"},
		{"</network>", "<ip address='10.0.0.9' prefix='25'><dhcp><range start='10.0.0.4' end='10.0.0.12'/></dhcp></ip></network>", "invalid dhcp4."},
		{"</network>", options("dhcp-option=option6:ntp-server,[fd00::1]"), "invalid dnsmasq:options: an option of DHCPv6 is set"},
		{"<dhcp><range start='10.0.0.2' end='10.0.0.9'/></dhcp></ip></network>", "</ip>" + options("dhcp-boot=x"), "invalid dnsmasq:options: DHCP options are set"},
		{"<dhcp><range", "<tftp root='relative'/><dhcp><range", "invalid"},
	} {
		doc := document(c.old, c.new)
		if doc == document() {
			t.Fatalf("%q is not in the document", c.old)
		}
		_, err := Compile(parse(t, doc))
		var invalid *spec.InvalidError
		var unsupported *spec.UnsupportedError
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.As(err, &invalid) && !errors.As(err, &unsupported) {
			t.Errorf("%s: %v, want %s…", c.new, err, c.want)
		}
	}
	if _, err := Compile(parse(t, document())); err != nil {
		t.Errorf("the document itself: %v", err)
	}
}

func TestCompilingTwiceGivesTheSame(t *testing.T) {
	t.Parallel()
	n := parse(t, document())
	one, err1 := Compile(n)
	two, err2 := Compile(n.Clone())
	if d := cmp.Diff(one, two, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" || err1 != nil || err2 != nil {
		t.Errorf("%v, %v:\n%s", err1, err2, d)
	}
}

func TestASubnetTheHostReachesAlreadyIsRefused(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	ns.Keep("link uplink")
	ns.Shell("ip link add uplink type bridge; ip address add 10.0.0.7/24 dev uplink; ip link set uplink up")
	routes, err := ns.Kernel().Routes()
	if err != nil {
		t.Fatal(err)
	}
	l, err := ns.Kernel().LinkByName("uplink")
	if err != nil {
		t.Fatal(err)
	}
	err = Collision(parse(t, document()), routes)
	var c *CollisionError
	if !errors.Is(err, ErrCollision) || !errors.As(err, &c) || c.Link != l.Index || !strings.Contains(err.Error(), "10.0.0.0/24") {
		t.Errorf("the same subnet: %v, want ErrCollision by link %d", err, l.Index)
	}
	if err := Collision(parse(t, document()), routes, l.Index); err != nil {
		t.Errorf("by the network's own bridge: %v", err)
	}
	for _, p := range []string{"23", "25"} {
		if err := Collision(parse(t, document("prefix='24'", "prefix='"+p+"'")), routes); err != nil {
			t.Errorf("another length, %s: %v", p, err)
		}
	}
	other := document("10.0.0.", "10.5.0.", "</network>", "<route address='10.0.0.0' prefix='24' gateway='10.5.0.7'/></network>")
	if err := Collision(parse(t, other), routes); !errors.Is(err, ErrCollision) {
		t.Errorf("a static route to the same subnet: %v", err)
	}
	if err := Collision(parse(t, strings.Replace(other, "gateway", "metric='7' gateway", 1)), routes); err != nil {
		t.Errorf("one with another metric: %v", err)
	}
	wide := append(slices.Clone(routes), host.Route{To: netip.MustParsePrefix("0.0.0.0/0"), Link: l.Index})
	if err := Collision(parse(t, document("10.0.0.", "10.5.0.")), wide); err != nil {
		t.Errorf("a default route: %v", err)
	}
}

func TestACompiledNetworkSettlesOnAHost(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	e := &state.Env{Kernel: ns.Kernel(), Group: 0x7461} // without firewall and DHCP
	want, err := Compile(parse(t, document()))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		want  state.State
		steps bool
	}{{want, true}, {want, false}, {state.State{}, true}} {
		o, err := state.Observe(context.Background(), e, want.Scope())
		if err != nil {
			t.Fatal(err)
		}
		p, err := state.Diff(e, o, c.want)
		if err != nil {
			t.Fatal(err)
		}
		if (len(p) > 0) != c.steps {
			t.Errorf("round %d would run:\n%s", i, p)
		}
		if err := p.Apply(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
}
