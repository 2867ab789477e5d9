package bench_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommandMeasuresNetworksWithStableNames(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "networks", "--active", "2", "--backend", "nft,iptables-nft")
	want := []string{"floor.2.start ms", "nft.2.start ms", "iptables-nft.2.start ms"}
	for _, side := range []string{"nft.", "iptables-nft."} {
		for _, name := range []string{"start.programs each", "start.transactions each", "more ms", "restart ms", "remove.programs each", "remove.transactions each", "remove ms"} {
			want = append(want, side+"2."+name)
		}
	}
	want = append(want, "floor.2.more ms", "floor.2.remove ms")
	if d := cmp.Diff(want, figures(t, r)); d != "" {
		t.Errorf("figures (-want +got):\n%s\nskipped: %+v", d, r.Skipped)
	}
	for name, v := range map[string]float64{"start.programs": 0.5, "start.transactions": 1, "remove.programs": 0, "remove.transactions": 1} {
		if f, _ := r.Figure("nft.2." + name); f.Max != v {
			t.Errorf("%s: %v each; want %v: the helper is executed for both networks, and each is one transaction", name, f.Max, v)
		}
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Name != "peer.libvirt" {
		t.Errorf("skipped %+v, want the peer alone", r.Skipped)
	}
}

func TestTheCommandMeasuresAStreamThroughFewAndManyNetworks(t *testing.T) {
	t.Parallel()
	r := report(t, programs(t), "networks", "--stream", "--active", "1,3", "--backend", "nft,firewalld-nftables")
	var names []string
	for _, f := range r.Figures {
		names = append(names, f.Name+" "+f.Unit)
		if strings.HasSuffix(f.Unit, "/s") && f.Min <= 0 {
			t.Errorf("nothing flows: %+v", f)
		}
	}
	want := []string{"nft.stream.1 Gbit/s", "nft.stream.3 Gbit/s", "nft.stream.loss %", "nft.stream.loss.low %", "nft.stream.loss.high %"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Name != "firewalld-nftables.stream" {
		t.Errorf("skipped %+v, want what is beside firewalld", r.Skipped)
	}
}
