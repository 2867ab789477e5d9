package cycletest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
	"taproom/internal/daemon/daemontest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }

// network is served DHCP and DNS by the network helper, and leads a port of the loopback to a guest by the process for that.
const network = `<network>
  <name>cycle</name>
  <uuid>6f0c2a52-8d1e-4f57-9a3b-1c5a7e0d1601</uuid>
  <metadata><taproom:forwards xmlns:taproom='urn:taproom:network:1'>
    <taproom:forward protocol='tcp' address='127.0.0.1' port='8080' to='10.78.1.10:80'/>
  </taproom:forwards></metadata>
  <forward mode='nat'/>
  <bridge name='br-cycle' stp='off' delay='0'/>
  <ip address='10.78.1.1' netmask='255.255.255.0'><dhcp><range start='10.78.1.2' end='10.78.1.200'/></dhcp></ip>
</network>`

// world is a daemon with that network, and a client of it.
type world struct {
	*daemontest.Daemon
	c   *client.Client
	net remote.Network
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Daemon: daemontest.New(t)}
	w.c = w.Client()
	if err := w.c.Call(t.Context(), remote.ProgramRemote, remote.ProcNetworkDefineXML, &remote.String{S: network}, &w.net); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask makes a request about the network.
func (w *world) ask(ctx context.Context, procedure uint32) error {
	return w.c.Call(ctx, remote.ProgramRemote, procedure, &w.net, &xdr.Void{})
}

// away removes the network, and fails the test for what is left.
func (w *world) away(t *testing.T) {
	t.Helper()
	if err := w.ask(t.Context(), remote.ProcNetworkUndefine); err != nil {
		t.Error(err)
	}
	if left := w.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// children are the processes of the daemon that run or are zombies.
func (w *world) children() (pids []string) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.PID())) // by the threads that made them
	for _, list := range lists {
		b, _ := os.ReadFile(list) // a thread may have ended meanwhile
		pids = append(pids, strings.Fields(string(b))...)
	}
	return pids
}

// usage is what a daemon could need more of with every cycle.
type usage struct{ threads, descriptors, kilobytes int }

func (w *world) usage(t *testing.T) (u usage) {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.PID()))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.PID()))
	if err != nil {
		t.Fatal(err)
	}
	u.descriptors = len(open)
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 {
			n, _ := strconv.Atoi(f[1])
			switch f[0] {
			case "Threads:":
				u.threads = n
			case "VmRSS:":
				u.kilobytes = n
			}
		}
	}
	return u
}

// rounds is how often something is done: usually, and in the long run (TAPROOM_LONG=1), of which TAPROOM_ROUNDS does a part.
func rounds(t *testing.T, usually, long int) int {
	t.Helper()
	if os.Getenv("TAPROOM_LONG") == "" {
		return usually
	}
	if part := os.Getenv("TAPROOM_ROUNDS"); part != "" {
		n, err := strconv.Atoi(part)
		if err != nil {
			t.Fatalf("TAPROOM_ROUNDS: %v", err)
		}
		return n
	}
	return long
}
