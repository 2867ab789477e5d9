package ovs_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/ovsdb/ovstest"
	"taproom/internal/network/ovs"
	"taproom/internal/network/state"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

const group = 0x7461

// bench is a namespace with an Open vSwitch, as a host.
type bench struct {
	*testing.T
	ns  *hosttest.NS
	sw  *ovstest.Switch
	env *state.Env
}

// patient is as long as the slowest machine needs.
const patient = time.Minute

func newBench(t *testing.T, bridges ...string) *bench {
	t.Helper()
	ns := hosttest.NewNS(t)
	b := &bench{T: t, ns: ns, sw: ovstest.Start(t, ns)}
	for _, name := range bridges {
		b.sw.Bridge(name)
	}
	b.env = &state.Env{Kernel: ns.Kernel(), Group: group, Switch: b.backend(patient)}
	t.Cleanup(func() {
		if err := b.env.CloseTaps(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) backend(within time.Duration) *ovs.Switch {
	return &ovs.Switch{Kernel: b.ns.Kernel(), Socket: b.sw.Socket, Within: within, Group: group}
}

// ports are n taps of a guest and their ports on a bridge.
func ports(owner, bridge string, first, n int) state.State {
	s := state.State{Ports: map[string]state.Port{}, SwitchPorts: map[string]state.SwitchPort{}}
	for i := first; i < first+n; i++ {
		name := fmt.Sprint("vnet", i)
		s.Ports[name] = state.Port{Owner: owner, NoIPv6: true, Up: true}
		s.SwitchPorts[name] = state.SwitchPort{Owner: owner, Bridge: bridge, IDs: map[string]string{
			"attached-mac": fmt.Sprintf("52:54:00:00:00:%02x", i), "iface-id": fmt.Sprint("id-", i), "iface-status": "active", "vm-id": owner,
		}}
	}
	return s
}

func (b *bench) plan(want state.State, scope state.Scope) (state.Plan, error) {
	o, err := state.Observe(b.Context(), b.env, scope)
	if err != nil {
		return nil, err
	}
	return state.Diff(b.env, o, want)
}

func (b *bench) set(want state.State, others ...state.State) error {
	p, err := b.plan(want, want.Scope(others...))
	if err != nil {
		return err
	}
	return p.Apply(b.Context(), b.env)
}

// settle sets, looking at everything of ours, and makes sure that nothing is left to do.
func (b *bench) settle(want state.State) {
	b.Helper()
	scope := want.Scope()
	scope.All, scope.AllSwitchPorts = true, true
	p, err := b.plan(want, scope)
	if err == nil {
		err = p.Apply(b.Context(), b.env)
	}
	if err != nil {
		b.Fatalf("%v\nplan:\n%s", err, p)
	}
	for _, s := range []state.Scope{scope, want.Scope()} {
		if p, err := b.plan(want, s); err != nil || len(p) != 0 {
			b.Fatalf("a second Set would still run (%v):\n%s", err, p)
		}
	}
}

// rows are the ports of the database as text, without what is made up for each row.
func rows(s *ovstest.Switch) string {
	var out []string
	for _, name := range slices.Sorted(slices.Values(strings.Fields(s.Ctl("--columns=name", "--format=csv", "--no-headings", "list", "Port")))) {
		name = strings.Trim(name, `"`)
		if strings.HasPrefix(name, "br") {
			continue
		}
		bridge := s.Ctl("iface-to-br", name)
		out = append(out, fmt.Sprintln(name, bridge), s.Ctl("--columns=name,tag,trunks,vlan_mode,external_ids,other_config", "list", "Port", name),
			s.Ctl("--columns=name,external_ids,type", "list", "Interface", name), "\n")
	}
	return strings.Join(out, "")
}

func TestPortsComeInOneTransactionAndGoInOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 20)
	if err := b.set(want); err != nil {
		t.Fatal(err)
	}
	if n := b.sw.Transactions("taproom: set"); n != 1 {
		t.Errorf("20 ports took %d transactions", n)
	}
	if got := b.sw.Ports("br0"); len(got) != 20 {
		t.Errorf("ports %v", got)
	}
	ids := b.sw.Ctl("get", "Interface", "vnet7", "external_ids")
	if want := `{attached-mac="52:54:00:00:00:07", iface-id=id-7, iface-status=active, vm-id=guest-1}`; ids != want {
		t.Errorf("external_ids %s, want %s", ids, want)
	}
	if p, err := b.plan(want, want.Scope()); err != nil || len(p) != 0 {
		t.Errorf("a second Set would still run (%v):\n%s", err, p)
	}
	if err := b.set(state.State{}, want); err != nil {
		t.Fatal(err)
	}
	if n := b.sw.Transactions("taproom: remove"); n != 1 {
		t.Errorf("removing 20 ports took %d transactions", n)
	}
	if got := b.sw.Ports("br0"); len(got) != 0 {
		t.Errorf("ports left: %v", got)
	}
	if got := b.sw.Ctl("--columns=name", "--format=csv", "--no-headings", "list", "Interface"); got != "br0" {
		t.Errorf("interfaces left: %s", got)
	}
}

// anyPorts draws which ports there are and what they are like, round by round. A tap that comes has a name that was never
// used before, as on a host: the switch may still be letting go of the last one, and sets the flags of whatever has its name.
func anyPorts(round int, now state.State) *rapid.Generator[state.State] {
	return rapid.Custom(func(t *rapid.T) state.State { return drawPorts(t, round, now) })
}

func drawPorts(t *rapid.T, round int, now state.State) state.State {
	want := state.State{}
	for i := range 4 {
		if !rapid.Bool().Draw(t, "present") {
			continue
		}
		number := 4*round + i
		for name := range now.SwitchPorts {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, "vnet")); err == nil && n%4 == i {
				number = n
			}
		}
		one := ports(fmt.Sprint("guest-", i), rapid.SampledFrom([]string{"br0", "br1"}).Draw(t, "bridge"), number, 1)
		name := fmt.Sprint("vnet", number)
		p := one.SwitchPorts[name]
		p.VLAN = rapid.SampledFrom([]*state.VLAN{
			{}, {Tag: []int{7}}, {Trunks: []int{1, 4095}}, {Tag: []int{0}, Trunks: []int{0, 3}, Mode: "native-untagged"}, {Tag: []int{3}, Mode: "native-tagged"},
		}).Draw(t, "vlan")
		p.IDs["port-profile"] = rapid.SampledFrom([]string{"a", "with, a comma", `"quoted" \`, "{}", "ä"}).Draw(t, "profile")
		one.SwitchPorts[name] = p
		want = want.Merge(one)
	}
	return want
}

func TestAnyWalkBetweenConfigurationsConverges(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0", "br1")
	first := int(time.Now().UnixNano() & 0xffffff)
	want := state.State{}
	for seed := first; seed < first+15; seed++ {
		t.Log("seed", seed)
		want = anyPorts(seed-first, want).Example(seed)
		b.settle(want)
	}
	b.settle(state.State{})
}

func TestThePrintedPlanDoesTheSame(t *testing.T) {
	t.Parallel()
	ours, theirs := newBench(t, "br0", "br1"), newBench(t, "br0", "br1")
	first := int(time.Now().UnixNano() & 0xffffff)
	want := state.State{}
	for seed := first; seed < first+6; seed++ {
		t.Log("seed", seed)
		want = anyPorts(seed-first, want).Example(seed)
		scope := state.Scope{AllSwitchPorts: true, SwitchBridges: []string{"br0", "br1"}}
		want.Ports = nil // without links, which the other test has
		ours.env.Switch = ours.backend(patient)
		p, err := ours.plan(want, scope)
		if err != nil {
			t.Fatal(err)
		}
		script := strings.ReplaceAll(p.String(), "ovs-vsctl --", "ovs-vsctl --db=unix:"+theirs.sw.Socket+" --timeout=60 --no-wait --")
		if out, err := theirs.ns.Try("sh", "-e", "-c", script); err != nil {
			t.Fatalf("%v %s\n%s", err, out, script)
		}
		for _, step := range p {
			err := step.Apply(t.Context(), &state.Run{Env: ours.env})
			if err != nil && !strings.Contains(err.Error(), "No such device") { // there are no taps
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(rows(theirs.sw), rows(ours.sw)); d != "" {
			t.Fatalf("(-printed +applied) of\n%s%s", p, d)
		}
	}
}

func TestWhatIsNotOursStays(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	b.ns.Run("ip", "tuntap", "add", "dev", "vnet1", "mode", "tap")
	defer b.ns.Run("ip", "link", "delete", "dev", "vnet1")
	b.sw.Ctl("add-port", "br0", "vnet1", "--", "set", "Port", "vnet1", "external_ids:taproom-group=1", "external_ids:taproom-owner=guest-1")
	before := rows(b.sw)
	want := ports("guest-1", "br0", 1, 1)
	want.Ports = nil
	if err := b.set(want); !errors.Is(err, state.ErrForeign) || !strings.Contains(err.Error(), "bridge br0 of Open vSwitch") {
		t.Errorf("somebody else's port: %v", err)
	}
	b.settle(state.State{})
	if d := cmp.Diff(before, rows(b.sw)); d != "" {
		t.Errorf("another's port was changed:\n%s", d)
	}

	// What others write into our rows stays too.
	want = ports("guest-1", "br0", 2, 1)
	b.settle(want)
	b.sw.Ctl("set", "Interface", "vnet2", "external_ids:ovn-installed=true", "external_ids:iface-id=other", "--", "set", "Port", "vnet2", "tag=9")
	p, err := b.plan(want, want.Scope())
	if got := p.String(); err != nil || got != "ovs-vsctl -- set Interface vnet2 external_ids:iface-id=id-2\n" {
		t.Errorf("plan %v:\n%s", err, got)
	}
	b.settle(want)
	if got := b.sw.Ctl("get", "Interface", "vnet2", "external_ids:ovn-installed"); got != `"true"` {
		t.Errorf("ovn-installed %s", got)
	}
	if got := b.sw.Ctl("get", "Port", "vnet2", "tag"); got != "9" { // no VLAN was asked for: somebody else gives one
		t.Errorf("tag %s", got)
	}
	b.settle(state.State{})
}

func TestAPortThatSomebodyRemovedIsPlannedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 2)
	b.settle(want)
	for name, p := range want.SwitchPorts {
		p.Held = true
		want.SwitchPorts[name] = p
	}
	b.sw.Ctl("del-port", "br0", "vnet1")
	b.settle(want)
	if got := b.sw.Ports("br0"); !slices.Equal(got, []string{"vnet0", "vnet1"}) {
		t.Errorf("ports %v", got)
	}
	b.sw.Ctl("del-br", "br0") // while there is none, there is nothing to do
	b.settle(want)
	b.sw.Bridge("br0")
	b.settle(want)
	if got := b.sw.Ports("br0"); !slices.Equal(got, []string{"vnet0", "vnet1"}) {
		t.Errorf("ports %v", got)
	}
	b.settle(state.State{})
}

func TestABridgeThatDoesNotExist(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	var missing *state.NoBridgeError
	want := ports("guest-1", "br7", 0, 2)
	if err := b.set(want); !errors.As(err, &missing) || missing.Bridge != "br7" {
		t.Errorf("no bridge: %v", err)
	}
	// One that goes between the look and the change.
	want = ports("guest-1", "br0", 0, 2)
	p, err := b.plan(want, want.Scope())
	if err != nil {
		t.Fatal(err)
	}
	b.sw.Ctl("del-br", "br0")
	if err := p.Apply(t.Context(), b.env); !errors.As(err, &missing) || missing.Bridge != "br0" {
		t.Errorf("a bridge that went meanwhile: %v", err)
	}
	b.settle(state.State{})
}

func TestANameThatIsTakenMeanwhileIsSomebodyElses(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 2)
	p, err := b.plan(want, want.Scope())
	if err != nil {
		t.Fatal(err)
	}
	b.sw.Ctl("--no-wait", "add-port", "br0", "vnet1")
	var foreign *state.ForeignError
	if err := p.Apply(t.Context(), b.env); !errors.As(err, &foreign) || foreign.Name != "vnet1" {
		t.Errorf("a name that was taken: %v", err)
	}
	if got := b.sw.Ports("br0"); !slices.Equal(got, []string{"vnet1"}) {
		t.Errorf("ports %v", got)
	}
	b.settle(state.State{})
}

func TestALinkOfSomebodyElseIsNotPlugged(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 2)
	p, err := b.plan(want, want.Scope())
	if err != nil {
		t.Fatal(err)
	}
	b.ns.Run("ip", "link", "add", "name", "vnet1", "type", "bridge")
	defer b.ns.Run("ip", "link", "delete", "dev", "vnet1")
	var taken *state.TakenError
	if err := p.Apply(t.Context(), b.env); !errors.As(err, &taken) {
		t.Errorf("a name that was taken: %v", err)
	}
	if got := b.sw.Ports("br0"); len(got) != 0 {
		t.Errorf("ports %v", got)
	}
	b.settle(state.State{})
}

func TestASwitchThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 1)
	soon := b.backend(300 * time.Millisecond)

	b.env.Switch = soon
	b.sw.SignalDaemon(unix.SIGSTOP)
	if err := b.set(want); err == nil || !strings.Contains(err.Error(), "ovs-vswitchd hangs or does not run") {
		t.Errorf("ovs-vswitchd is stopped: %v", err)
	}
	b.env.Switch = b.backend(patient)
	if err := b.set(state.State{}, want); err != nil { // removal does not wait for it
		t.Error(err)
	}
	b.env.Switch = soon
	b.sw.SignalDaemon(unix.SIGCONT)

	b.sw.SignalServer(unix.SIGSTOP)
	if err := b.set(want); !errors.Is(err, ovs.ErrUnreachable) || !strings.Contains(err.Error(), "has not answered within 300ms") {
		t.Errorf("ovsdb-server is stopped: %v", err)
	}
	b.sw.SignalServer(unix.SIGCONT)

	b.sw.StopServer()
	if err := b.set(want); !errors.Is(err, ovs.ErrUnreachable) || !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("ovsdb-server is gone: %v", err)
	}
	soon.Socket += ".nowhere"
	if err := b.set(want); !errors.Is(err, ovs.ErrUnreachable) || !errors.Is(err, unix.ENOENT) {
		t.Errorf("no socket: %v", err)
	}
	b.sw.StartServer()
	b.env.Switch = b.backend(patient)
	b.settle(want)
	b.settle(state.State{})
}

func TestAPortThatTheSwitchCannotUseIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, "br0")
	want := ports("guest-1", "br0", 0, 1)
	want.Ports = nil // no such link
	err := b.set(want)
	if err == nil || !strings.Contains(err.Error(), "cannot use port vnet0 on bridge br0: could not open network device vnet0 (No such device)") {
		t.Errorf("a port without a link: %v", err)
	}
	b.settle(state.State{})
}
