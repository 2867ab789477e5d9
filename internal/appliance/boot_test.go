package appliance

import (
	"context"
	"testing"
	"time"
)

func TestBootX(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	m := boot(ctx, t, "pc", "-nic", "user,model=virtio-net-pci")
	h, err := m.agent.Hello(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(m.ready)
	t.Logf("%+v", h)
	n, err := m.agent.WaitNetwork(ctx, 1, 10*time.Second)
	t.Logf("%+v %v", n, err)
	t.Log(m.console)
}
