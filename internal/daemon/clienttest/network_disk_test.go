package clienttest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

// Disks that servers have: NBD over TCP and over a socket that only root may use, and a CD over HTTP. QEMU reads of each
// before it answers.
func TestDisksOfServers(t *testing.T) {
	t.Parallel()
	c := serve(t)
	socket := filepath.Join(c.work, "nbd.sock")
	c.nbdkit("unix", socket)
	c.nbdkit("tcp", "127.0.0.1:10810")
	port, asked := c.webServer()
	disk := func(kind, target, source string) string {
		return "<disk type='network' device='" + kind + "'><driver name='qemu' type='raw'/>" + source + "<target dev='" + target + "'/></disk>"
	}
	document := func(disks string) string {
		return "<domain type='qemu'><name>served</name><uuid>00000000-0000-4000-8000-0000000000e2</uuid><memory unit='MiB'>16</memory>" +
			"<os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features><devices>" + disks + "</devices></domain>"
	}
	c.write("served.xml", document(
		disk("disk", "vda", "<source protocol='nbd'><host name='127.0.0.1' port='10810'/></source>")+
			disk("disk", "vdb", "<source protocol='nbd'><host transport='unix' socket='"+socket+"'/></source>")+
			disk("cdrom", "sda", fmt.Sprintf("<source protocol='http' name='some/cd.iso'><host name='127.0.0.1' port='%d'/></source>", port))))
	c.do("define", "served.xml")
	c.do("start", "served", "--paused")
	if path := asked(); path != "/some/cd.iso" {
		t.Errorf("the web server was asked for %q", path)
	}
	if out := c.do("domblklist", "served"); !strings.Contains(out, "vda") || !strings.Contains(out, "vdb") {
		t.Errorf("disks: %s", out)
	}
	c.do("destroy", "served")

	c.write("served.xml", document(disk("disk", "vda", "<source protocol='nbd'><host name='127.0.0.1' port='10811'/></source>")))
	c.do("define", "served.xml")
	out, code := c.run(c.virsh("start", "served"))
	if code == 0 || !strings.Contains(out, "Connection refused") {
		t.Errorf("a server that is not there: exit %d: %s", code, out)
	}
	c.write("served.xml", document(disk("disk", "vda", "<source protocol='nbd'><host transport='unix' socket='"+socket+"x'/></source>")))
	c.do("define", "served.xml")
	out, code = c.run(c.virsh("start", "served"))
	if code == 0 || !strings.Contains(out, "disk vda: "+socket+"x: no such file or directory") {
		t.Errorf("a socket that is not there: exit %d: %s", code, out)
	}
}

// nbdkit serves a disk of a megabyte on a socket that listens already.
func (c *clients) nbdkit(network, address string) {
	c.t.Helper()
	var l net.Listener
	var err error
	c.daemon.NS.Do(func() { l, err = net.Listen(network, address) })
	if err != nil {
		c.t.Fatal(err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	defer l.Close()
	f, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.CommandContext(c.t.Context(), "sh", "-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec nbdkit -f memory 1M")
	cmd.ExtraFiles = []*os.File{f}
	if err := c.daemon.NS.Start(cmd); err != nil {
		c.t.Fatalf("%v (package nbdkit)", err)
	}
	c.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// webServer has the same megabyte wherever it is asked; asked is the path that it was asked for first.
func (c *clients) webServer() (port int, asked func() string) {
	c.t.Helper()
	paths := make(chan string, 100)
	content := bytes.NewReader(make([]byte, 1<<20))
	server := &http.Server{ReadHeaderTimeout: emutest.Patience(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case paths <- r.URL.Path:
		default:
		}
		http.ServeContent(w, r, "cd.iso", time.Time{}, content)
	})}
	var l net.Listener
	var err error
	c.daemon.NS.Do(func() { l, err = net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		c.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	c.t.Cleanup(func() { _ = server.Close(); <-done })
	return l.Addr().(*net.TCPAddr).Port, func() string {
		select {
		case p := <-paths:
			return p
		case <-time.After(emutest.Patience()):
			return ""
		}
	}
}
