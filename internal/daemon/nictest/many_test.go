package nictest

import (
	"fmt"
	"os"
	"testing"
)

// A guest with very many NICs sees them all, each gets an address, and traffic passes both ways on each: with a processor
// whose interrupts are too few for any NIC to have its own, with just enough for all that they would take or for two each, and
// with two processors. Of e1000e, which have I/O ports, it has as many as firmware can place.
func TestAGuestWithVeryManyNICsHasThemAllWorking(t *testing.T) {
	if os.Getenv("TAPROOM_NICS") == "" {
		t.Skip("guests with 82 NICs boot: run `make nics`")
	}
	for _, c := range []struct {
		model                     string
		attachment                attachment
		nics, processors, vectors int
	}{
		{"virtio", tap(9), 82, 1, 0},
		{"virtio", tap(9), 38, 1, 3}, // with one more it would be 2
		{"virtio", tap(9), 51, 1, 2}, // and none
		{"virtio", macvtap(9, "bridge"), 82, 2, 3},
		{"e1000e", tap(9), 14, 1, 3},
	} {
		t.Run(fmt.Sprintf("%d %s on %s, %d processors", c.nics, c.model, c.attachment.name, c.processors), func(t *testing.T) {
			nics := make([]nic, c.nics)
			for i := range nics {
				a := c.attachment
				a.name = fmt.Sprintf("%s %d", a.name, i)
				if i > 0 { // all of them are on what was made for the first
					a.network, a.prepare, a.undo = "", "", ""
				}
				nics[i] = nic{attachment: a, model: c.model}
			}
			// They are all on one segment, where a guest otherwise answers for the address of each on any of them.
			parameters := "sysctl.net.ipv4.conf.all.arp_ignore=1 sysctl.net.ipv4.conf.all.arp_announce=2 ipv6.disable=1 loglevel=5"
			(&machine{T: t, processors: c.processors, vectors: &c.vectors, parameters: parameters}).try(nics)
		})
	}
}

// tap is one on the bridge of segment n.
func tap(n int) attachment {
	return attachment{name: "tap", network: segment(n, "many"), kind: "bridge", inside: fmt.Sprintf("<source bridge='seg%d'/>", n), host: hostOf(n)}
}
