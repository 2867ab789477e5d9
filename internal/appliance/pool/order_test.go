package pool

import (
	"testing"

	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

func TestAppliancesWithANICHaveAPoolOfTheirOwn(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	keys := map[string]bool{}
	for _, nic := range []bool{false, true} {
		o, err := NewOrder(k, launch.Spec{QEMU: "/bin/sh", NIC: nic})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Spec(k).NIC; got != nic {
			t.Errorf("an order of appliances with a NIC %v has them with one %v", nic, got)
		}
		key, err := o.Key(k)
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = true
	}
	if len(keys) != 2 {
		t.Errorf("both kinds share the pool %v", keys)
	}
}
