package engine

import (
	"strings"
	"testing"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/alloc"
	"taproom/internal/network/portforward"
	"taproom/internal/spec"
)

// forwarding is an engine with networks in a namespace, and networks a, b and so on, whose forwards it is given.
func forwarding(t *testing.T, forwards ...string) (*Engine, []*network, []*spec.Network) {
	t.Helper()
	e := small(t)
	e.k = hosttest.NewNS(t).Kernel()
	e.fabric = &fabric{fw: &refusing{}, helper: &helperService{}, loopback: &helperService{}}
	e.helper.options.Kernel, e.helper.options.Dir = e.k, t.TempDir()+"/none"
	e.loopback.options = e.helper.options
	var all []*network
	var docs []*spec.Network
	for i, f := range forwards {
		name := string(rune('a' + i))
		doc, err := spec.ParseNetwork([]byte(`<network><name>` + name + `</name><uuid>00000000-0000-4000-8000-00000000000` + name + `</uuid>
			<metadata><t:forwards xmlns:t='urn:taproom:network:1'>` + f + `</t:forwards></metadata>
			<forward mode='nat'/><bridge name='virbr-` + name + `'/><dns enable='no'/><ip address='192.168.13` + string(rune('0'+i)) + `.1' netmask='255.255.255.0'/></network>`))
		if err != nil {
			t.Fatal(err)
		}
		n := newNetwork(*doc.UUID, name, nil)
		e.networks.add(n)
		all, docs = append(all, n), append(docs, doc)
	}
	return e, all, docs
}

// A network that is just being started has its ports of the host already: another one that comes meanwhile is told what it
// would be told a moment later.
func TestOfTwoNetworksThatStartTogetherOneGetsAPortOfTheHost(t *testing.T) {
	t.Parallel()
	e, n, docs := forwarding(t, "<forward port='8080' end='8090' to='web'/>", "<forward port='8085' to='other'/>", "<forward port='9000' to='other'/>")
	release, err := e.claimOfHost(n[0], docs[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = "cannot start network 'b': port of the host is another network's: tcp 8085 is to lead to 'other', and network 'a' has tcp 8080-8090 lead to 'web'"
	if err := e.activate(t.Context(), n[1], docs[1]); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
	free, err := e.claimOfHost(n[2], docs[2])
	if err != nil {
		t.Fatalf("another port: %v", err)
	}
	free()
	release()
	if release, err = e.claimOfHost(n[1], docs[1]); err != nil {
		t.Fatalf("once the other one did not start: %v", err)
	}
	release()
	n[1].update(func(v *netView) { v.live = docs[1] })
	if _, err := e.claimOfHost(n[0], docs[0]); err == nil || !strings.Contains(err.Error(), portforward.ErrClash.Error()) {
		t.Errorf("once the other one is active: %v", err)
	}
	if release, err = e.claimOfHost(n[0], docs[2]); err != nil {
		t.Errorf("what was refused keeps something: %v", err)
	} else {
		release()
	}
}

func TestAllNetworksTogetherForwardNoMorePortsThanThereCanBe(t *testing.T) {
	t.Parallel()
	// Documents that no client could define.
	e, n, docs := forwarding(t, "<forward port='1' end='16000' to='web'/>", "<forward port='20000' end='20383' to='web'/>", "<forward port='30000' to='web'/>")
	n[0].update(func(v *netView) { v.live = docs[0] })
	release, err := e.claimOfHost(n[1], docs[1])
	if err != nil {
		t.Fatal(err)
	}
	const want = "cannot start network 'c': it forwards 1 ports of the host, and other networks that are active 16384; all together may forward 16384"
	if err := e.activate(t.Context(), n[2], docs[2]); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
	release()
	if release, err = e.claimOfHost(n[2], docs[2]); err != nil {
		t.Errorf("as many as there can be: %v", err)
	} else {
		release()
	}
}

// Networks come and go for as long as the daemon runs: what was known of one goes with it.
func TestNothingIsKnownOfANetworkThatHasGone(t *testing.T) {
	t.Parallel()
	e, n, docs := forwarding(t, "<forward port='8080' to='web'/>", "")
	e.helper.options.LeaseDir = t.TempDir()
	e.links = alloc.NewLinks()
	var err error
	if e.bridges, err = e.links.Of(bridgeTemplate); err != nil {
		t.Fatal(err)
	}
	n[0].update(func(v *netView) { v.live = docs[0] })
	e.targets.learn(n[0].uuid, map[string]portforward.Guest{"web": {Why: "it is off"}})
	e.targets.done(n[0].uuid)
	release, err := e.claimOfHost(n[1], docs[1])
	if err != nil {
		t.Fatal(err)
	}
	release()
	if len(e.targets.of) != 1 || len(e.targets.in) != 1 {
		t.Fatalf("known are %v and %v", e.targets.of, e.targets.in)
	}
	n[0].update(func(v *netView) { v.live = nil })
	e.forgetNetwork(t.Context(), n[0])
	if len(e.subnets.asked)+len(e.targets.of)+len(e.targets.in)+len(e.hostPorts.asked) > 0 {
		t.Errorf("known are %v, %v and %v", e.subnets.asked, e.targets.of, e.targets.in)
	}
}
