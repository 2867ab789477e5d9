package nodedev

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The functions are those of the PCI device of a link, by their numbers; one that has no link is with a guest.
func TestFunctionsOfAnSRIOVNIC(t *testing.T) {
	t.Parallel()
	s := fake(t, []txtar.File{
		{Name: "class/net/eth0 -> devices/p0/net/eth0"},
		{Name: "devices/p0/net/eth0/device -> devices/p0"},
		{Name: "devices/p0/sriov_totalvfs", Data: []byte("63\n")},
		{Name: "devices/p0/virtfn0 -> devices/v0"},
		{Name: "devices/p0/virtfn1 -> devices/v1"},
		{Name: "devices/p0/virtfn2 -> devices/v2"},
		{Name: "devices/p0/virtfn10 -> devices/v10"},
		{Name: "devices/v0/net/eth0v0/address"},
		{Name: "devices/v2/net/eth0v2/address"},
		{Name: "devices/v10/net/eth0v10/address"},
		{Name: "class/net/eth1 -> devices/p1/net/eth1"},
		{Name: "devices/p1/net/eth1/device -> devices/p1"},
		{Name: "devices/p1/sriov_totalvfs", Data: []byte("8\n")},
		{Name: "class/net/veth0 -> devices/virtual/net/veth0"},
	})
	for dev, want := range map[string]string{
		"eth0": "eth0v0 eth0v2 eth0v10", "eth1": "", "veth0": "veth0 is no SR-IOV NIC: it has no virtual functions to give to guests",
		"eth9": "there is no link eth9; name one of the host's (ip link)",
	} {
		links, err := s.Functions(dev)
		got := strings.Join(links, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", dev, got, want)
		}
	}
}
