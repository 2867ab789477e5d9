package ovstest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// young is a host whose switch starts a second after the machine, as its monotonic clock has it.
type young struct {
	*hosttest.NS
	behind time.Duration // that clock, in whole seconds
}

func (y *young) StartTied(c *exec.Cmd) error {
	if !strings.HasSuffix(c.Path, "/ovs-vswitchd") {
		return y.NS.StartTied(c)
	}
	shown, err := uptime()
	if err != nil {
		return err
	}
	if c.Path, err = exec.LookPath("unshare"); err != nil {
		return err
	}
	y.behind = max(0, shown-time.Second).Truncate(time.Second)
	back := fmt.Sprintf("--monotonic=-%.0f", y.behind.Seconds())
	c.Args = append([]string{"unshare", "--time", back, "--fork", "--kill-child"}, c.Args...)
	return y.NS.StartTied(c)
}

// clocks is nil where the kernel gives processes clocks of their own.
func clocks() error {
	if _, err := os.Stat("/proc/self/ns/time"); err != nil {
		return &host.Missing{What: "time namespaces", Config: "CONFIG_TIME_NS", Err: err}
	}
	return nil
}

// The kernel asks the switch where the first frame of a flow goes, also on a machine that has just booted.
func TestASwitchThatStartsRightAfterTheMachineIsAskedWhereFramesGo(t *testing.T) {
	t.Parallel()
	hosttest.Needs(t, KernelDatapath(), hosttest.Lift{Module: "openvswitch"})
	hosttest.Needs(t, clocks(), hosttest.Lift{})
	y := &young{NS: hosttest.NewNS(t)}
	s := Start(t, y)
	s.behind = y.behind
	s.SystemBridge("br0")
	y.Shell("ip address add 10.9.9.1/24 dev br0; ip link set br0 up; ping -c 1 -W 1 10.9.9.2 || true") // which nobody has
	var counted string
	s.Await("the kernel gets a frame of an unknown flow", func() bool {
		counted = y.Run("ovs-dpctl", "show", "-s", "ovs-system")
		return !strings.Contains(counted, " missed:0 ")
	})
	if !strings.Contains(counted, " lost:0\n") {
		t.Errorf("frames were lost because there was nobody to ask:\n%s", counted)
	}
}
