package lanfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"taproom/internal/host/hosttest"
	"taproom/internal/network/lanfiles"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// booted makes a host with a NIC on which nothing is configured yet, and the files that a move leaves below a folder.
func booted(t *testing.T, before fstest.MapFS) (*hosttest.NS, string) {
	t.Helper()
	ns := hosttest.NewNS(t)
	ns.Keep("link eth0", "link lan", "link br0")
	ns.Shell("ip link add eth0 address 02:00:5e:00:00:01 type veth peer name lan; ip link set dev lan up; ip link set dev eth0 down")
	m := eth0
	m.MTU = 1500
	r, err := lanfiles.Persist(before, m)
	if err != nil || len(r.Changes) == 0 {
		t.Fatal(r, err)
	}
	for _, c := range r.Changes {
		before[c.Path] = &fstest.MapFile{Data: []byte(c.After), Mode: c.Mode}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, before); err != nil {
		t.Fatal(err)
	}
	return ns, dir
}

// like compares what ip shows of the host after the boot.
func like(t *testing.T, ns *hosttest.NS) {
	t.Helper()
	for script, want := range map[string]string{
		"ip -o link show dev eth0":   " master br0 ",
		"ip -d link show dev br0":    "forward_delay 0 ",
		"ip -o link show dev br0":    "02:00:5e:00:00:01",
		"ip -o -4 address show":      "br0    inet 192.0.2.10/24",
		"ip route show default":      "default via 192.0.2.1 dev br0",
		"ip -d -o link show dev br0": "stp_state 0",
	} {
		if got := ns.Shell(script); !strings.Contains(got, want) {
			t.Errorf("%s: want %q in\n%s", script, want, got)
		}
	}
	if got := ns.Shell("ip -4 address show dev eth0"); strings.Contains(got, "inet") {
		t.Errorf("the NIC has\n%s", got)
	}
}

// TestSystemdNetworkdMakesTheBridgeWhenTheHostBoots runs the real one on what is written for it.
func TestSystemdNetworkdMakesTheBridgeWhenTheHostBoots(t *testing.T) {
	t.Parallel()
	ns, dir := booted(t, fstest.MapFS{
		"run/systemd/netif/links/2": {Data: []byte("ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-wired.network\n")},
		"etc/systemd/network/20-wired.network": {
			Data: []byte("[Match]\nName=eth0\n\n[Network]\nAddress=192.0.2.10/24\nGateway=192.0.2.1\nIPv6AcceptRA=no\n"), Mode: 0o644,
		},
	})
	if err := os.Chmod(dir, 0o755); err != nil { // the temporary folder is above it; networkd reads as root
		t.Fatal(err)
	}
	ns.Run("timeout", "120", "unshare", "-m", "sh", "-e", "-c", `
mkdir -p /etc/systemd/network
mount --bind "$0/etc/systemd/network" /etc/systemd/network
mount -t tmpfs none /run
mkdir -p /run/systemd
install -d -o systemd-network -g systemd-network /run/systemd/netif # from systemd 257 on it does not take one of root's
mount -o remount,ro /sys
/usr/lib/systemd/systemd-networkd >"$0/log" 2>&1 & daemon=$!
trap 'kill $daemon; wait $daemon || true' EXIT
until ip -o -4 address show dev br0 2>/dev/null | grep -q 192.0.2.10 && ip route show default | grep -q br0; do
  sleep 0.05
  kill -0 $daemon || { cat "$0/log" >&2; exit 1; }
done`, dir)
	like(t, ns)
}

// TestIfupMakesTheBridgeAndIfdownRemovesIt runs the real ones on what is written for them.
func TestIfupMakesTheBridgeAndIfdownRemovesIt(t *testing.T) {
	t.Parallel()
	ns, dir := booted(t, fstest.MapFS{
		"etc/network/interfaces": {Data: []byte("allow-hotplug eth0\niface eth0 inet static\n  address 192.0.2.10/24\n  gateway 192.0.2.1\n"), Mode: 0o644},
	})
	run := func(program string) {
		ns.Run(program, "--no-scripts", "--interfaces", filepath.Join(dir, "etc/network/interfaces"), "--state-dir", dir, "br0")
	}
	run("ifup")
	like(t, ns)
	run("ifdown")
	if got := ns.Shell("ip -o link"); strings.Contains(got, "br0") {
		t.Errorf("after ifdown there is\n%s", got)
	}
}
