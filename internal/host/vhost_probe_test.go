package host_test

import (
	"strings"
	"testing"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestVHostNetIsProbedByTryingIt(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	err := k.ProbeVHostNet()
	if err != nil && !strings.Contains(err.Error(), "modprobe vhost_net") {
		t.Errorf("%v: it does not say what to do", err)
	}
	hosttest.Needs(t, err, hosttest.Lift{Module: "vhost_net"})
}
